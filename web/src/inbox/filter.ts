/** The filter of an inbox, which is in its address. */

import type { EventType, InboxOptions, ItemState, ListInbox, Matching } from "@gatepost/client";

import { query } from "../router.js";

export type InboxFilter = Pick<ListInbox, "state" | "type" | "sender" | "text" | "origin" | "hidden">;

export function readFilter(): InboxFilter {
  const values = query.value;
  const state = values.get("state") ?? "pending";
  const type = values.get("type");
  return {
    ...(state === "all" ? {} : state === "snoozed" ? { state: "pending", hidden: true } : { state: state as ItemState }),
    ...(state === "pending" ? { hidden: false } : {}),
    ...(type ? { type: type as EventType } : {}),
    ...copy("sender"),
    ...copy("text"),
    ...copy("origin"),
  };

  function copy(name: string): Record<string, string> {
    const value = values.get(name);
    return value ? { [name]: value } : {};
  }
}

/** Whether it lets only some of the items of a state through. */
export function isNarrow({ type, sender, text, origin }: InboxFilter): boolean {
  return [type, sender, text, origin].some((value) => value !== undefined);
}

/** Pending items without another filter come the most urgent first, others the newest first. */
export function chooseOrder(filter: InboxFilter): InboxOptions {
  return filter.state === "pending" && filter.hidden === false && !isNarrow(filter) ? { mostUrgentFirst: true } : { newestFirst: true };
}

/** What changes many items takes; what came after `at` is left out. */
export function buildMatching(filter: InboxFilter, at: string): Matching {
  return { ...filter, hidden: filter.hidden ?? null, until: at };
}
