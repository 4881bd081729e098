/** What runs have used: the time that is shown, what it is grouped by, and where the runs behind a number are. */

import type { ShowUsage, Usage } from "@gatepost/client";

import { client } from "../data/session.js";
import { withFilters } from "../router.js";

export type Dimension = "agent" | "model" | "cause";

export const DIMENSIONS: readonly Dimension[] = ["agent", "model", "cause"];
export const LENGTHS = [
  [1, "24 hours"],
  [7, "7 days"],
  [30, "30 days"],
  [90, "90 days"],
] as const;

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Groups of a chart: more than these are not told apart anyway. */
const MAX_PAGES = 5;
const PAGE_LENGTH = 1000;

/** The time of a chart in hours or days of UTC, as the gateway counts them. */
export interface Period {
  days: number;
  step: number;
  since: string;
  /** When each bar begins, in milliseconds. */
  starts: readonly number[];
}

export function buildPeriod(days: number, at: number): Period {
  const [step, count] = days === 1 ? [HOUR, 24] : [DAY, days];
  const last = at - (at % step);
  const starts = Array.from({ length: count }, (_, index) => last - (count - 1 - index) * step);
  return { days, step, since: new Date(starts[0] ?? at).toISOString(), starts };
}

export function sumTokens(usage: Pick<Usage, "promptTokens" | "completionTokens">): number {
  return usage.promptTokens + usage.completionTokens;
}

/** Return the name of a group, in the dimension that it is grouped by. */
export function nameGroup(group: Usage, by: Dimension): string {
  return group[by] ?? "";
}

/** Return all groups of a usage, and what they have used together. */
export async function loadGroups(request: ShowUsage, signal: AbortSignal): Promise<{ groups: readonly Usage[]; total: Usage }> {
  let page = await client.showUsage({ ...request, limit: PAGE_LENGTH }, { signal });
  const groups = [...page.items];
  for (let pages = 1; page.next !== null && pages < MAX_PAGES; pages += 1) {
    page = await client.showUsage({ ...request, after: page.next, limit: PAGE_LENGTH }, { signal });
    groups.push(...page.items);
  }
  return { groups, total: page.total };
}

/** What runs of a list have in common. */
export interface RunFilter {
  agent?: string | undefined;
  model?: string | undefined;
  cause?: string | undefined;
  status?: string | undefined;
  stopped?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
}

/** Return the address of the runs that a number counts. */
export function linkRuns(filter: RunFilter): string {
  return withFilters("/cost/runs", { ...filter });
}
