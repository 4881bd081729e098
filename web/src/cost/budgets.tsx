/** Budgets: how much of each is used in its present period, and what it stopped. */

import type { BudgetStatus } from "@gatepost/client";

import { displayName } from "../data/live.js";
import { useInterval, useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { buildPath } from "../router.js";
import { Avatar, Failure, Line, Skeleton } from "../ui/parts.js";
import { formatSize, plural } from "../ui/text.js";
import { formatExact, RelativeTime } from "../ui/time.js";
import { linkRuns } from "./usage.js";

export function BudgetList({ agent }: { agent: string | undefined }) {
  const { value, error, reload } = useLoad((signal) => client.listBudgets({ limit: 200, ...(agent === undefined ? {} : { agent }) }, { signal }), [agent ?? ""]);
  useInterval(reload, 20_000);
  if (value === undefined) return error === undefined ? <Skeleton rows={4} /> : <Failure error={error} onRetry={reload} />;
  if (value.items.length === 0) {
    return (
      <div class="card pad sm muted stack gap-2 start">
        <p>{agent === undefined ? "No agent has a budget: each may use as much as it likes." : "It has no budget."}</p>
        <p>A budget is in the form of an agent: open the agent, and choose Change.</p>
        <a class="button small" href="/agents">
          Open the agents
        </a>
      </div>
    );
  }
  const list = value.items.toSorted((a, b) => share(b) - share(a));
  return (
    <ul class="card row-list">
      {list.map((budget) => (
        <li key={budget.agent} class="budget stack gap-2 sm">
          <BudgetRow budget={budget} />
        </li>
      ))}
    </ul>
  );
}

function BudgetRow({ budget }: { budget: BudgetStatus }) {
  const own = { agent: budget.agent, since: budget.periodStart };
  return (
    <>
      <div class="line gap-2">
        <Avatar name={displayName(budget.agent)} isSmall />
        <a class="line-text accent-hover strong" href={buildPath("agents", budget.agent)}>
          <Line text={displayName(budget.agent)} limit={60} />
        </a>
        {budget.exhausted && <span class="badge danger">used up</span>}
        <span class="grow" />
        <span class="muted xs" title={formatExact(budget.periodEnd)}>
          {budget.exhausted ? "thinks again" : "begins again"} <RelativeTime time={budget.restUntil ?? budget.periodEnd} />
        </span>
      </div>
      {budget.tokens !== null && <Meter label="tokens" used={budget.usedTokens} limit={budget.tokens} per={budget.per} href={linkRuns(own)} />}
      {budget.cycles !== null && <Meter label="cycles" used={budget.usedCycles} limit={budget.cycles} per={budget.per} href={linkRuns(own)} />}
      {(budget.stoppedRuns > 0 || budget.exhausted) && (
        <p class="line gap-4 xs">
          <a class="link" href={linkRuns({ ...own, stopped: "true" })}>
            {plural(budget.stoppedRuns, "run")} stopped
          </a>
          <a class="link" href={buildPath("inbox", budget.agent)}>
            {budget.waitingItems >= 1000 ? "over 1,000 items wait" : `${plural(budget.waitingItems, "item")} ${budget.waitingItems === 1 ? "waits" : "wait"}`}
          </a>
        </p>
      )}
    </>
  );
}

function Meter({ label, used, limit, per, href }: { label: string; used: number; limit: number; per: string; href: string }) {
  const part = limit === 0 ? 1 : used / limit;
  const level = part >= 1 ? "is-danger" : part >= 0.8 ? "is-warn" : "";
  return (
    <a class="meter" href={href}>
      <span class="meter-track" role="meter" aria-label={`${label} used`} aria-valuenow={Math.min(used, limit)} aria-valuemin={0} aria-valuemax={Math.max(1, limit)}>
        <i class={`meter-bar ${level}`} style={{ width: `${Math.min(100, part * 100)}%` }} />
      </span>
      <span class="meter-text xs number">
        {formatSize(used)} <span class="muted">of {formatSize(limit)} {label} {per === "hour" ? "an hour" : `a ${per}`}</span>
      </span>
    </a>
  );
}

/** Return how much of a budget is used: of its tokens or its cycles, whichever is nearer to the end. */
function share(budget: BudgetStatus): number {
  const part = (used: number, limit: number | null) => (limit === null ? 0 : used / Math.max(1, limit));
  return Math.max(part(budget.usedTokens, budget.tokens), part(budget.usedCycles, budget.cycles));
}
