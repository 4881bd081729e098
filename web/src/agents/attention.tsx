/** What may wake an agent or disturb a person now: shown, and chosen. */

import type { Attention, AttentionLevel, Entity } from "@gatepost/client";

import { loadEntities } from "../data/live.js";
import { client, me } from "../data/session.js";
import { Dialog, DialogActions } from "../ui/dialog.js";
import { useSubmission } from "../ui/submission.js";
import { toLine } from "../ui/text.js";
import { attempt } from "../ui/toasts.js";
import { RelativeTime } from "../ui/time.js";

const LEVELS: Record<AttentionLevel, string> = {
  all: "Everything, as always",
  focus: "Only what is critical",
  do_not_disturb: "Nothing",
};
const TIMES: readonly (readonly [string, string])[] = [
  ["1h", "for an hour"],
  ["4h", "for 4 hours"],
  ["1d", "for a day"],
  ["7d", "for a week"],
];

export function AttentionBadge({ attention }: { attention: Attention }) {
  return (
    <span class="badge warn">
      {attention.level === "focus" ? "focus" : "do not disturb"}, ends <RelativeTime time={attention.until} />
    </span>
  );
}

export function AttentionDialog({ entity, onClose, onDone }: { entity: Pick<Entity, "name" | "displayName" | "kind" | "attention">; onClose: () => void; onDone?: () => void }) {
  const { isBusy, submit } = useSubmission();
  const save = (form: HTMLFormElement) => {
    const data = new FormData(form);
    const level = String(data.get("level")) as AttentionLevel;
    return submit(async () => {
      const isSet = await attempt(async () => {
        await client.setAttention({ name: entity.name, level, ...(level === "all" ? {} : { within: String(data.get("within")) }) });
        await loadEntities();
      }, LEVELS[level]);
      onDone?.();
      if (isSet) onClose();
      return isSet;
    });
  };
  const isMe = entity.name === me.value;
  return (
    <Dialog title={isMe ? "What may disturb you" : `What may ${entity.kind === "agent" ? "wake" : "disturb"} ${toLine(entity.displayName, 40)}`} onClose={onClose}>
      <form class="dialog-body stack gap-3" onSubmit={(event) => (event.preventDefault(), void save(event.currentTarget))}>
        <label class="label">
          {entity.kind === "agent" ? "It is woken by" : "Notices in chats"}
          <select class="field" name="level" defaultValue={entity.attention?.level ?? "all"} autoFocus>
            {Object.entries(LEVELS).map(([level, words]) => (
              <option key={level} value={level} selected={level === (entity.attention?.level ?? "all")}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <label class="label">
          How long, unless it is everything
          <select class="field" name="within">
            {TIMES.map(([time, words]) => (
              <option key={time} value={time}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <p class="field-note">Nothing is lost: what comes meanwhile waits in the inbox. Senders are told.{entity.kind === "agent" ? "" : " Questions reach a chat all the same."}</p>
        <DialogActions action="Save" isDisabled={isBusy} onCancel={onClose} />
      </form>
    </Dialog>
  );
}
