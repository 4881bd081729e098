/** What can be done with the marked items. */

import { Icon } from "../ui/icons.js";
import { plural } from "../ui/text.js";
import type { Triage } from "./triage.js";

interface BarProps {
  triage: Triage;
  isPerson: boolean;
  isSnoozed: boolean;
  onSnooze: () => void;
}

export function TriageBar({ triage, isPerson, isSnoozed, onSnooze }: BarProps) {
  const { selection, marked, count } = triage;
  if (selection === undefined) return null;
  return (
    <div class="view-bar triage-bar line gap-1" role="toolbar" aria-label="Marked items">
      <button class="icon-button" aria-label="Mark nothing" title="Mark nothing (Escape)" onClick={triage.clear}>
        <Icon name="close" size={14} />
      </button>
      <span class="strong grow" role="status">
        {marked.all === undefined ? plural(count, "item") : `All ${count.toLocaleString("en")}`}
      </span>
      {marked.all === undefined && (
        <button class="button quiet small" title="*" onClick={() => void triage.markAll()}>
          All that match
        </button>
      )}
      {isPerson && (
        <button class="icon-button" aria-label="Mark as done" title="Done (e)" onClick={() => void triage.complete(selection, count)}>
          <Icon name="check" />
        </button>
      )}
      {isSnoozed ? (
        <button class="icon-button" aria-label="Show again" title="Show again (h)" onClick={() => void triage.unsnooze(selection)}>
          <Icon name="inbox" />
        </button>
      ) : (
        <button class="icon-button" aria-label="Snooze" title="Snooze (h)" onClick={onSnooze}>
          <Icon name="clock" />
        </button>
      )}
      <button class="icon-button" aria-label="Discard" title="Discard (#)" onClick={() => void triage.discard(selection)}>
        <Icon name="trash" />
      </button>
    </div>
  );
}
