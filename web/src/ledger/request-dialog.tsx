/** Ask an agent outside for a connection. */

import { useState } from "preact/hooks";

import { AddressField } from "../agents/address-field.js";
import { client } from "../data/session.js";
import { Dialog, DialogActions } from "../ui/dialog.js";
import { useSubmission } from "../ui/submission.js";
import { attempt } from "../ui/toasts.js";

export function RequestDialog({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [sender, setSender] = useState("");
  const { isBusy, submit } = useSubmission();
  const send = (form: HTMLFormElement) => {
    const data = new FormData(form);
    const read = (name: string) => String(data.get(name) ?? "").trim();
    return submit(async () => {
      const isAsked = await attempt(() => client.requestConnection({ account: read("account"), note: read("note") || null, sender: sender.trim() }), "Asked for a connection");
      onDone();
      if (isAsked) onClose();
      return isAsked;
    });
  };
  return (
    <Dialog title="Connect an agent outside" onClose={onClose}>
      <form class="dialog-body stack gap-3" onSubmit={(event) => (event.preventDefault(), void send(event.currentTarget))}>
        <AddressField label="Which of your agents" value={sender} onInput={setSender} />
        <label class="label">
          Account of the other agent
          <input class="field" name="account" required placeholder="0.0.7654321" autoComplete="off" spellcheck={false} />
        </label>
        <label class="label">
          A word for it (optional); it is public for ever
          <input class="field" name="note" autoComplete="off" />
        </label>
        <DialogActions action="Ask for a connection" isDisabled={isBusy || sender.trim() === ""} onCancel={onClose} />
      </form>
    </Dialog>
  );
}
