/** Until when items are hidden: a time, or an event that comes before. */

import type { Item, SnoozeTerms } from "@gatepost/client";
import { useState } from "preact/hooks";

import { displayName } from "../data/live.js";
import { Dialog } from "../ui/dialog.js";
import { Keys } from "../ui/parts.js";
import { plural, toLine } from "../ui/text.js";
import { formatExact } from "../ui/time.js";

interface SnoozeProps {
  /** How many items are snoozed. */
  count: number;
  /** The item, if it is a single one: it says what can be waited for. */
  item: Item | undefined;
  /** Only what a person reads can wait for an event. */
  isPerson: boolean;
  onClose: () => void;
  onSnooze: (terms: SnoozeTerms, until: string) => void;
}

interface Choice {
  title: string;
  note: string;
  terms: SnoozeTerms;
}

const HOUR = 3_600_000;
const MORNING = 9;

export function SnoozeDialog({ count, item, isPerson, onClose, onSnooze }: SnoozeProps) {
  const [custom, setCustom] = useState("");
  const choices = listChoices(new Date(), isPerson ? item : undefined);
  const choose = (choice: Choice) => onSnooze(choice.terms, choice.title.toLowerCase());
  const time = new Date(custom);
  const isValid = custom !== "" && time.getTime() > Date.now();
  return (
    <Dialog title={count === 1 ? "Snooze the item" : `Snooze ${plural(count, "item")}`} onClose={onClose}>
      <div
        class="dialog-body stack gap-3"
        onKeyDown={(event) => {
          const choice = event.target instanceof HTMLInputElement ? undefined : choices[Number(event.key) - 1];
          if (choice !== undefined) choose(choice);
        }}
      >
        <ul class="row-list card" aria-label="Until when">
          {choices.map((choice, index) => (
            <li key={choice.title}>
              <button class="row snooze-choice" autoFocus={index === 0} onClick={() => choose(choice)}>
                <Keys keys={String(index + 1)} />
                <span class="text grow">{choice.title}</span>
                <span class="muted text">{choice.note}</span>
              </button>
            </li>
          ))}
        </ul>
        <form
          class="snooze-form line gap-2"
          onSubmit={(event) => {
            event.preventDefault();
            if (isValid) onSnooze({ until: time.toISOString() }, formatExact(time.toISOString()));
          }}
        >
          <label class="label grow">
            Another time
            <input class="field" type="datetime-local" value={custom} onInput={(event) => setCustom(event.currentTarget.value)} />
          </label>
          <button class="button" disabled={!isValid}>
            Snooze
          </button>
        </form>
      </div>
    </Dialog>
  );
}

function listChoices(now: Date, item: Item | undefined): Choice[] {
  const choices = [
    buildChoice("In 3 hours", new Date(now.getTime() + 3 * HOUR)),
    buildChoice("Tomorrow morning", findMorning(now, 1)),
    buildChoice("Monday morning", findMorning(now, (8 - now.getDay()) % 7 || 7)),
    buildChoice("In four weeks", findMorning(now, 28)),
  ];
  if (item?.ref) choices.push({ title: "Until there is news", note: `about ${toLine(`${item.ref.type}:${item.ref.id}`, 40)}`, terms: { awaits: `about:${item.ref.type}:${item.ref.id}` } });
  if (item !== undefined) {
    const origin = item.sender ?? item.source;
    choices.push({ title: "Until the next event", note: `from ${toLine(item.sender === null ? item.source : displayName(item.sender), 40)}`, terms: { awaits: `from:${origin}` } });
  }
  return choices;
}

function buildChoice(title: string, time: Date): Choice {
  const note = time.toLocaleString("en", { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  return { title, note, terms: { until: time.toISOString() } };
}

function findMorning(now: Date, days: number): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, MORNING);
}
