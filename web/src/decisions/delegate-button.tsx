/** Pass a question on to somebody else, who is asked instead. */

import type { Decision } from "@gatepost/client";
import { useState } from "preact/hooks";

import { decisionsStore, displayName } from "../data/live.js";
import { client, me } from "../data/session.js";
import { AddressField } from "../agents/address-field.js";
import { Dialog, DialogActions } from "../ui/dialog.js";
import { Icon } from "../ui/icons.js";
import { useSubmission } from "../ui/submission.js";
import { toLine } from "../ui/text.js";
import { attempt } from "../ui/toasts.js";

export function DelegateButton({ decision, isBusy }: { decision: Decision; isBusy: boolean }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button class="icon-button" aria-label="Pass the decision on" title="Ask somebody else" disabled={isBusy} onClick={() => setOpen(true)}>
        <Icon name="forward" size={14} />
      </button>
      {isOpen && <DelegateDialog decision={decision} onClose={() => setOpen(false)} />}
    </>
  );
}

function DelegateDialog({ decision, onClose }: { decision: Decision; onClose: () => void }) {
  const [to, setTo] = useState("");
  const [text, setText] = useState("");
  const { isBusy, submit } = useSubmission();
  const by = decision.asked.includes(me.value) ? me.value : undefined;
  const send = () =>
    submit(async () => {
      const isSent = await attempt(async () => {
        await client.delegateDecision({ id: decision.id, to: [to.trim()], text, ...(by === undefined ? {} : { by }) });
        await decisionsStore.refresh();
      }, `${toLine(displayName(to.trim()), 60)} is asked now`);
      if (isSent) onClose();
      return isSent;
    });
  return (
    <Dialog title="Ask somebody else" onClose={onClose}>
      <form class="dialog-body stack gap-3" onSubmit={(event) => (event.preventDefault(), void send())}>
        <p class="sm soft">
          {by === undefined ? "Instead of everybody who was asked. " : "Instead of you. "}
          {toLine(displayName(decision.asker), 60)} hears of it, and the deadline stays.
        </p>
        <AddressField label="Who is asked" value={to} onInput={setTo} />
        <label class="label">
          A word for them (optional)
          <textarea class="field" rows={3} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <DialogActions action="Pass it on" isDisabled={isBusy || to.trim() === ""} onCancel={onClose} />
      </form>
    </Dialog>
  );
}
