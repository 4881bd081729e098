/** What is done with the items of an inbox, one or many: done, undone, discarded, snoozed, shown again. */

import type { InboxStore, Item, ItemSelection, SnoozeTerms } from "@gatepost/client";
import { useState } from "preact/hooks";

import { holdKeys } from "../early-keys.js";
import { refreshAccount } from "../data/live.js";
import { client } from "../data/session.js";
import { plural } from "../ui/text.js";
import { attempt, showToast } from "../ui/toasts.js";
import { buildMatching, type InboxFilter } from "./filter.js";

export type Action = "complete" | "discard" | "replay" | "unsnooze";

/** The items that are marked: some, or all that match the filter, as they were when they were counted. */
export interface Marked {
  events: ReadonlySet<string>;
  all: { at: string; total: number } | undefined;
}

const NOTHING: Marked = { events: new Set(), all: undefined };

export interface Triage {
  marked: Marked;
  /** How many items are marked. */
  count: number;
  isMarked: (item: Item) => boolean;
  toggle: (item: Item, isMarked?: boolean) => void;
  markAll: () => Promise<void>;
  clear: () => void;
  /** What is marked; undefined if nothing is. */
  selection: ItemSelection | undefined;
  complete: (selection: ItemSelection, count: number) => Promise<void>;
  discard: (selection: ItemSelection) => Promise<void>;
  snooze: (selection: ItemSelection, terms: SnoozeTerms, until: string) => Promise<void>;
  unsnooze: (selection: ItemSelection) => Promise<void>;
}

export function useTriage(store: InboxStore, name: string, filter: InboxFilter, onChange: () => void): Triage {
  const [state, setState] = useState<{ store: InboxStore; marked: Marked }>({ store, marked: NOTHING });
  const marked = state.store === store ? state.marked : NOTHING; // another filter marks nothing yet
  const setMarked = (next: (old: Marked) => Marked) => setState((old) => ({ store, marked: next(old.store === store ? old.marked : NOTHING) }));
  const clear = () => setMarked(() => NOTHING);

  /** Change items, and say so; the marks go at once, because the next key is for what is left. */
  const change = async (run: () => Promise<unknown>, describe: (result: unknown) => string, undo?: (result: unknown) => void) => {
    clear();
    let result: unknown;
    const isDone = await attempt(async () => (result = await run()));
    onChange();
    void refreshAccount();
    if (isDone) showToast(describe(result), undo ? { undo: () => undo(result) } : {});
  };
  const afterwards = (promise: Promise<unknown>) => void attempt(() => promise).then(() => (onChange(), refreshAccount()));

  return {
    marked,
    count: marked.all?.total ?? marked.events.size,
    clear,
    isMarked: (item) => (marked.all === undefined ? marked.events.has(item.eventId) : Date.parse(item.createdAt) < Date.parse(marked.all.at)),
    toggle: (item, isMarked) =>
      setMarked((old) => {
        const events = new Set(old.events);
        if (isMarked ?? !events.has(item.eventId)) events.add(item.eventId);
        else events.delete(item.eventId);
        return { events, all: undefined };
      }),
    markAll: async () => {
      const { hidden, ...others } = filter;
      const release = holdKeys(); // the next key is for what is marked
      await attempt(async () => {
        const { at, total } = await client.listItemGroups({ name, ...others, ...(hidden === undefined ? {} : { hidden }) });
        if (total > 0) setMarked(() => ({ events: new Set(store.state.items.map(({ eventId }) => eventId)), all: { at, total } }));
      });
      release();
    },
    selection: marked.all !== undefined ? { matching: buildMatching(filter, marked.all.at) } : marked.events.size > 0 ? { events: [...marked.events] } : undefined,
    complete: (selection, count) => {
      return change(
        () => store.completeMany(selection),
        () => `${plural(count, "item")} done`,
        (receipts) => afterwards(store.undo({ receipts: receipts as string[] })),
      );
    },
    discard: (selection) =>
      change(
        () => store.discardMany(selection),
        (count) => `${plural(count as number, "item")} discarded`,
      ),
    snooze: (selection, terms, until) =>
      change(
        () => store.snooze(selection, terms),
        (count) => `${plural(count as number, "item")} snoozed: ${until}`,
        () => "events" in selection && afterwards(store.unsnooze(selection).then(() => store.refresh())),
      ),
    unsnooze: (selection) =>
      change(
        () => store.unsnooze(selection),
        (count) => `${plural(count as number, "item")} shown again`,
      ),
  };
}
