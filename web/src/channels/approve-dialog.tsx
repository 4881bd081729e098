/** Let a user of a bot in, and say which person it is. */

import type { Pairing } from "@gatepost/client";
import { useState } from "preact/hooks";

import { displayName, loadEntities, people } from "../data/live.js";
import { client } from "../data/session.js";
import { Dialog, DialogActions } from "../ui/dialog.js";
import { useSubmission } from "../ui/submission.js";
import { toLine } from "../ui/text.js";
import { attempt, showToast } from "../ui/toasts.js";

/** By a request, or by a code, which says whose request is meant. */
export function ApproveDialog({ pairing, onClose, onDone }: { pairing?: Pairing; onClose: () => void; onDone: () => void }) {
  const [isByCode, setByCode] = useState(pairing === undefined);
  const { isBusy, submit } = useSubmission();
  const approve = async (form: HTMLFormElement) => {
    const data = new FormData(form);
    const code = String(data.get("code") ?? "").trim();
    const person = String(data.get("person") ?? "");
    await submit(async () => {
      const isDone = await attempt(async () => {
        const approved = await client.approvePairing({ code: isByCode ? code : (pairing?.id ?? ""), person: person || null });
        await loadEntities();
        showToast(`${toLine(approved.userName, 60)} writes as ${toLine(displayName(approved.person ?? ""), 60)}`);
      });
      onDone();
      if (isDone) onClose();
      return isDone;
    });
  };
  return (
    <Dialog title={isByCode || pairing === undefined ? "Let a user in with a code" : `Let ${toLine(pairing.userName, 40)} in`} onClose={onClose}>
      <form class="dialog-body stack gap-3" onSubmit={(event) => (event.preventDefault(), void approve(event.currentTarget))}>
        <p class="muted">Anybody can choose a name on a channel, so a name proves nothing. The code of the bot does: ask the user for it in a way that you trust.</p>
        {isByCode ? (
          <label class="label">
            Code
            <input class="field code-field" name="code" required placeholder="K7M2QX4R" maxLength={100} autoComplete="off" spellcheck={false} autoFocus />
          </label>
        ) : (
          <button class="button small start" type="button" onClick={() => setByCode(true)}>
            I have a code
          </button>
        )}
        <label class="label">
          The user is
          <select class="field" name="person">
            <option value="">a new person</option>
            {people.value.map((person) => (
              <option key={person.name} value={person.name}>
                {toLine(displayName(person.name), 80)}
              </option>
            ))}
          </select>
        </label>
        <DialogActions action="Let in" isDisabled={isBusy} onCancel={onClose} />
      </form>
    </Dialog>
  );
}
