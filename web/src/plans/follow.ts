/** What the stream says of plans and triggers: views load again, and what has just fired is marked for a moment. */

import type { GatepostEvent } from "@gatepost/client";
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { follow, onEvent } from "../data/feed.js";
import { useInterval } from "../data/load.js";

/** What no event tells is asked for this often. */
const REFRESH_INTERVAL = 15_000;
/** Next fires change only when something fires or is set. */
export const FIRES_INTERVAL = 60_000;
/** How long something that has fired is marked. */
const MARK_TIME = 6000;

/** The ids of plans and the names of triggers that have just fired. */
export const justFired = signal<ReadonlySet<string>>(new Set());

/** Load again after events that matter, after a lost connection, and at times. */
export function useFollow(refresh: () => void, matters: (event: GatepostEvent) => boolean, interval = REFRESH_INTERVAL): void {
  useInterval(refresh, interval);
  useEffect(() => follow(matters, refresh), []);
}

/** Mark plans and triggers that fire while a component is mounted. */
export function useFireMarks(): void {
  useEffect(
    () =>
      onEvent((event) => {
        const key = findFired(event);
        if (key === undefined) return;
        justFired.value = new Set([...justFired.value, key]);
        setTimeout(() => (justFired.value = new Set([...justFired.value].filter((other) => other !== key))), MARK_TIME);
      }),
    [],
  );
}

/** Whether an event is about plans. */
export function isAboutPlans({ event, data }: GatepostEvent): boolean {
  return event.startsWith("plan.") || (event === "inbox.item" && data.type === "plan");
}

/** Whether an event is about triggers, or about something that may have come through one. */
export function isAboutTriggers({ event, data }: GatepostEvent): boolean {
  return event.startsWith("trigger.") || (event === "inbox.item" && (data.type === "alert" || data.type === "service"));
}

/** Whether an event can have changed what became of a fire: an agent begins or ends a cycle. */
export function isAboutFires(event: GatepostEvent): boolean {
  return isAboutPlans(event) || isAboutTriggers(event) || event.event === "agent.active" || event.event === "agent.inactive";
}

function findFired({ event, data }: GatepostEvent): string | undefined {
  if (event === "plan.fired") return data.id;
  if (event === "trigger.fired") return data.name;
  if (event !== "inbox.item" || data.type !== "plan") return undefined;
  const id = (data.data as { planId?: unknown } | null)?.planId;
  return typeof id === "string" ? id : undefined;
}
