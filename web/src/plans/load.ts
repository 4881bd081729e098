/** Lists of plans, triggers and fires, whole as far as a page can show them. */

import type { Fire, PastFire, Plan, PlanStatus, Trigger } from "@gatepost/client";

import { client } from "../data/session.js";
import { buildPath } from "../router.js";
import { SPANS, type Span } from "./spans.js";

const PAGE_LENGTH = 1000;
const MAX_ENTRIES = 2000;
const MAX_NEXT = 500;
/** Plans and schedules whose past fires are shown together, and the fires of each. */
const MAX_SOURCES = 12;
const FIRES_EACH = 8;
const MAX_RECENT = 16;

export interface NextFires {
  fires: Fire[];
  until: string | undefined;
}

export interface RecentFire extends PastFire {
  kind: Fire["kind"];
  /** The id of a plan, or the name of a trigger. */
  id: string;
  name: string;
}

export async function listPlans(signal: AbortSignal, request: { owner?: string; status?: PlanStatus }): Promise<Plan[]> {
  const list: Plan[] = [];
  for await (const plan of client.pages(client.listPlans, { ...request, limit: PAGE_LENGTH }, { signal })) {
    if (list.push(plan) >= MAX_ENTRIES) break;
  }
  return list;
}

export async function listTriggers(signal: AbortSignal): Promise<Trigger[]> {
  const list: Trigger[] = [];
  for await (const trigger of client.pages(client.listTriggers, { limit: PAGE_LENGTH }, { signal })) list.push(trigger);
  return list;
}

/**
 * Return what fires next. Something that fires often fills the list: beyond `until` only the next fire of each of the
 * others is known.
 */
export async function listNextFires(signal: AbortSignal, request: { owner?: string; within: string }, plans: readonly Plan[], triggers: readonly Trigger[]): Promise<NextFires> {
  const { items, next } = await client.listFires({ ...request, limit: MAX_NEXT }, { signal });
  const until = items.at(-1)?.at;
  if (next === null || until === undefined) return { fires: items, until: undefined };
  const last = new Date(Date.now() + SPANS[request.within as Span].length).toISOString();
  const isBeyond = (at: string | null): at is string => at !== null && at > until && at < last;
  const later: Fire[] = [
    ...plans.flatMap((plan) => (isBeyond(plan.nextRunAt) ? [{ at: plan.nextRunAt, kind: "plan" as const, id: plan.id, name: plan.name, owner: plan.owner, recurring: plan.isRecurring, heartbeat: false }] : [])),
    ...triggers.flatMap(({ name, owner, nextAt, heartbeat }) => (isBeyond(nextAt) ? [{ at: nextAt, kind: "trigger" as const, id: name, name, owner, recurring: true, heartbeat: heartbeat !== null }] : [])),
  ];
  return { fires: [...items, ...later.sort((a, b) => a.at.localeCompare(b.at))], until };
}

/** Return what has fired lately, the newest first. */
export async function listRecentFires(signal: AbortSignal, plans: readonly Plan[], triggers: readonly Trigger[]): Promise<RecentFire[]> {
  // One that was only run by hand has no slot that has passed, and may have fired just now.
  const fired = plans.filter((plan) => plan.fired > 0).toSorted((a, b) => (b.lastRunAt ?? "9").localeCompare(a.lastRunAt ?? "9"));
  const schedules = triggers.filter((trigger) => trigger.schedule !== null);
  const lists = await Promise.all([
    ...fired.slice(0, MAX_SOURCES).map(async ({ id, name }) => {
      const page = await client.listPlanFires({ id, limit: FIRES_EACH }, { signal }).catch(() => ({ items: [] }));
      return page.items.map((fire): RecentFire => ({ ...fire, kind: "plan", id, name }));
    }),
    ...schedules.slice(0, MAX_SOURCES).map(async ({ name }) => {
      const page = await client.listTriggerFires({ name, limit: FIRES_EACH }, { signal }).catch(() => ({ items: [] }));
      return page.items.map((fire): RecentFire => ({ ...fire, kind: "trigger", id: name, name }));
    }),
  ]);
  return lists.flat().sort((a, b) => b.firedAt.localeCompare(a.firedAt)).slice(0, MAX_RECENT);
}

/** Return the address of what fires. */
export function pathOf({ kind, id }: Pick<Fire, "kind" | "id">): string {
  return buildPath(kind === "plan" ? "plans" : "triggers", id);
}
