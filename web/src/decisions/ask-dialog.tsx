/** Ask somebody to decide. The answer comes to the inbox of who asks. */

import { useState } from "preact/hooks";

import { AddressField } from "../agents/address-field.js";
import { decisionsStore, displayName } from "../data/live.js";
import { client, me } from "../data/session.js";
import { Dialog, DialogActions } from "../ui/dialog.js";
import { useSubmission } from "../ui/submission.js";
import { toLine } from "../ui/text.js";
import { attempt } from "../ui/toasts.js";

export function AskDialog({ onClose }: { onClose: () => void }) {
  const [of, setOf] = useState("");
  const { isBusy, submit } = useSubmission();
  const ask = (form: HTMLFormElement) => {
    const data = new FormData(form);
    const read = (name: string) => String(data.get(name) ?? "").trim();
    const labels = [...new Set(read("options").split("\n").map((line) => line.trim()).filter(Boolean))];
    const request = {
      question: read("question"),
      of: [of.trim()],
      options: labels.map((label, index) => ({ id: `option-${index + 1}`, label })),
      freeText: data.has("freeText") || labels.length === 0,
      within: read("within") || null,
      asker: me.value,
    };
    return submit(async () => {
      const isAsked = await attempt(async () => {
        await client.askDecision(request);
        await decisionsStore.refresh();
      }, `${toLine(displayName(of.trim()), 60)} is asked`);
      if (isAsked) onClose();
      return isAsked;
    });
  };
  return (
    <Dialog title="Ask for a decision" onClose={onClose}>
      <form class="dialog-body stack gap-3" onSubmit={(event) => (event.preventDefault(), void ask(event.currentTarget))}>
        <AddressField label="Who is asked" value={of} onInput={setOf} />
        {of.trim() === me.value && <p class="notice warn" role="alert">You cannot ask yourself.</p>}
        <label class="label">
          Question
          <textarea class="field" name="question" rows={3} required maxLength={10_000} />
        </label>
        <label class="label">
          Options (one per line). Leave empty for a free answer
          <textarea class="field" name="options" rows={3} placeholder={"Ship it\nWait until Monday"} />
        </label>
        <div class="field-pair">
          <label class="label">
            Time to answer (optional)
            <input class="field" name="within" placeholder="2h" autoComplete="off" />
          </label>
          <label class="line gap-2 sm">
            <input type="checkbox" name="freeText" /> Allow a free answer
          </label>
        </div>
        <DialogActions action="Ask" isDisabled={isBusy || of.trim() === "" || of.trim() === me.value} onCancel={onClose} />
      </form>
    </Dialog>
  );
}
