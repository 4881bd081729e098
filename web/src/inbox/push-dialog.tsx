/** Push an event by hand. */

import type { EventType } from "@gatepost/client";
import { displayName, entities } from "../data/live.js";
import { client, me } from "../data/session.js";
import { Dialog, DialogActions } from "../ui/dialog.js";
import { useSubmission } from "../ui/submission.js";
import { toLine } from "../ui/text.js";
import { attempt } from "../ui/toasts.js";

const PRIORITIES = ["critical", "high", "normal", "low", "fyi"];
const TYPES: readonly EventType[] = ["event", "alert", "mail", "note"];

export function PushDialog({ to, onClose }: { to: string; onClose: () => void }) {
  const { isBusy, submit } = useSubmission();
  const send = async (form: HTMLFormElement) => {
    const data = new FormData(form);
    const read = (name: string) => String(data.get(name) ?? "").trim();
    const event = { to: read("to"), type: read("type") as EventType, subject: read("subject") || null, content: read("content"), priority: read("priority"), sender: me.value };
    await submit(async () => {
      const isPushed = await attempt(() => client.pushEvent(event), `Pushed to ${toLine(displayName(event.to), 60)}`);
      if (isPushed) onClose();
      return isPushed;
    });
  };
  return (
    <Dialog title="Push an event" onClose={onClose}>
      <form class="dialog-body stack gap-3" onSubmit={(event) => (event.preventDefault(), void send(event.currentTarget))}>
        <label class="label">
          To
          <input class="field" name="to" list="push-addresses" defaultValue={to} required autoComplete="off" />
          <datalist id="push-addresses">
            {entities.value.map((entity) => (
              <option key={entity.name} value={entity.name} />
            ))}
          </datalist>
        </label>
        <div class="columns gap-3 field-row">
          <label class="label">
            Type
            <select class="field" name="type">
              {TYPES.map((type) => (
                <option key={type}>{type}</option>
              ))}
            </select>
          </label>
          <label class="label">
            Priority
            <select class="field" name="priority" defaultValue="normal">
              {PRIORITIES.map((priority) => (
                <option key={priority} selected={priority === "normal"}>
                  {priority}
                </option>
              ))}
            </select>
          </label>
        </div>
        <label class="label">
          Subject
          <input class="field" name="subject" autoComplete="off" />
        </label>
        <label class="label">
          Text
          <textarea class="field" name="content" rows={5} required autoFocus />
        </label>
        <DialogActions action="Push" isDisabled={isBusy} onCancel={onClose} />
      </form>
    </Dialog>
  );
}
