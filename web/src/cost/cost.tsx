/** Cost: tokens by agent, model or cause and by day, why agents woke, budgets and what they stopped, the most expensive runs. */

import "./cost.css";
import "../home/home.css";

import type { Usage } from "@gatepost/client";
import { useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { displayName } from "../data/live.js";
import { useInterval, useLoad } from "../data/load.js";
import { changeQuery, navigate, query, segments, withFilters } from "../router.js";
import { BarChart } from "../ui/bar-chart.js";
import { Empty, Failure, Skeleton } from "../ui/parts.js";
import { formatSize, plural, toLine } from "../ui/text.js";
import { formatDuration } from "../ui/time.js";
import { Breakdown, Causes } from "./breakdown.js";
import { BudgetList } from "./budgets.js";
import { buildChart } from "./chart.js";
import { ExpensiveRuns, RunsByTokens } from "./runs.js";
import { buildPeriod, DIMENSIONS, LENGTHS, linkRuns, loadGroups, sumTokens } from "./usage.js";

export default function Cost() {
  return segments.value[1] === "runs" ? <RunsByTokens /> : <CostPage />;
}

function CostPage() {
  const by = DIMENSIONS.find((name) => name === query.value.get("by")) ?? "agent";
  const days = LENGTHS.find(([length]) => String(length) === query.value.get("days"))?.[0] ?? 7;
  const agent = query.value.get("agent") ?? undefined;
  const { value, error, reload } = useLoad(
    async (signal) => {
      const period = buildPeriod(days, Date.now());
      const request = { since: period.since, ...(agent === undefined ? {} : { agent }) };
      const [steps, groups, causes] = await Promise.all([
        loadGroups({ ...request, by: [by, days === 1 ? "hour" : "day"] }, signal),
        loadGroups({ ...request, by: [by] }, signal),
        loadGroups({ ...request, by: ["cause"] }, signal),
      ]);
      return { period, steps: steps.groups, groups: groups.groups, causes: causes.groups, total: groups.total };
    },
    [by, days, agent ?? ""],
  );
  useInterval(reload, 20_000);
  const [highlighted, setHighlighted] = useState<string | undefined>(undefined);
  useCommands([
    ...DIMENSIONS.map((name, index) => ({ id: `by-${name}`, title: `Show cost by ${name}`, group: "Cost", keys: String(index + 1), run: () => changeQuery({ by: name }) })),
    ...LENGTHS.map(([length, label]) => ({ id: `days-${length}`, title: `Show the last ${label}`, group: "Cost", run: () => changeQuery({ days: String(length) }) })),
    { id: "cost-runs", title: "Show the most expensive runs", group: "Cost", keys: "r", run: () => navigate(linkRuns({ agent, since: value?.period.since })) },
    ...(agent === undefined ? [] : [{ id: "cost-all", title: "Show the cost of all agents", group: "Cost", keys: "Escape", run: () => changeQuery({ agent: undefined }) }]),
  ]);
  const chart = value && buildChart(value.period, value.steps, value.groups, by, agent);
  return (
    <>
      <header class="view-head has-tabs">
        <h1>Cost</h1>
        <nav class="tabs" aria-label="Time">
          {LENGTHS.map(([length, label]) => (
            <a key={length} class="tab" href={withFilters("/cost", { by: by === "agent" ? undefined : by, days: String(length), agent })} aria-current={length === days ? "page" : undefined}>
              {label}
            </a>
          ))}
        </nav>
        <span class="grow" />
        {agent !== undefined && (
          <button class="button small filter-chip" aria-label={`Show all agents, not only ${toLine(displayName(agent), 60)}`} onClick={() => changeQuery({ agent: undefined })}>
            <bdi class="line-text">{toLine(displayName(agent), 30)}</bdi> ×
          </button>
        )}
      </header>
      <div class="view-body stack gap-5">
        {error !== undefined && value === undefined ? (
          <Failure error={error} onRetry={reload} />
        ) : (
          <>
            <Summary total={value?.total} agent={agent} since={value?.period.since} />
            {value !== undefined && value.total.runs === 0 ? (
              <NoRuns days={days} />
            ) : (
              <section class="card">
                {chart === undefined || value === undefined ? (
                  <div class="chart-loading">
                    <Skeleton rows={4} />
                  </div>
                ) : (
                  <>
                    <BarChart
                      title={days === 1 ? "Tokens by hour" : "Tokens by day"}
                      of={days === 1 ? "Hour" : "Day (UTC)"}
                      bars={chart.bars}
                      series={chart.series}
                      format={formatSize}
                      summary={`${formatSize(sumTokens(value.total))} in ${plural(value.total.runs, "run")}`}
                      highlighted={highlighted === undefined ? undefined : chart.places.get(highlighted)}
                    />
                    <nav class="tabs cost-tabs" aria-label="Group by">
                      {DIMENSIONS.map((name) => (
                        <a key={name} class="tab" href={withFilters("/cost", { by: name, days: String(days), agent })} aria-current={name === by ? "page" : undefined}>
                          By {name}
                        </a>
                      ))}
                    </nav>
                    <Breakdown groups={value.groups} total={value.total} by={by} tones={chart.tones} filter={{ agent, since: value.period.since }} onHighlight={setHighlighted} />
                  </>
                )}
              </section>
            )}
            <div class="columns">
              <section class="stack gap-2" aria-labelledby="wakes">
                <h2 id="wakes">Why agents woke</h2>
                {value === undefined ? <Skeleton rows={4} /> : <Causes groups={value.causes} filter={{ agent, since: value.period.since }} />}
              </section>
              <section class="stack gap-2" aria-labelledby="budgets">
                <h2 id="budgets">Budgets</h2>
                <BudgetList agent={agent} />
              </section>
            </div>
            {value !== undefined && value.total.runs > 0 && (
              <section class="stack gap-2" aria-labelledby="expensive">
                <h2 id="expensive">The most expensive runs</h2>
                <ExpensiveRuns agent={agent} since={value.period.since} />
              </section>
            )}
          </>
        )}
      </div>
    </>
  );
}

function Summary({ total, agent, since }: { total: Usage | undefined; agent: string | undefined; since: string | undefined }) {
  const tokens = total && sumTokens(total);
  const all = linkRuns({ agent, since });
  return (
    <nav class="summary" aria-label="Numbers">
      <Figure href={all} label="tokens" value={tokens === undefined ? undefined : formatSize(tokens)} />
      <Figure href={all} label="completion tokens" value={total && formatSize(total.completionTokens)} />
      <Figure href={all} label="runs" value={total && formatSize(total.runs)} />
      <Figure href={all} label="tokens per run" value={total && formatSize(total.runs === 0 ? 0 : Math.round((tokens ?? 0) / total.runs))} />
      <Figure href={all} label="time thinking" value={total && formatDuration(total.durationMs).replace(/( m) \d+ s$/, "$1")} />
      <Figure href={linkRuns({ agent, since, status: "failed" })} label="runs failed" value={total && formatSize(total.failedRuns)} isBad={(total?.failedRuns ?? 0) > 0} />
      <Figure href={linkRuns({ agent, since, stopped: "true" })} label="stopped by a budget" value={total && formatSize(total.budgetStops)} isBad={(total?.budgetStops ?? 0) > 0} />
    </nav>
  );
}

function Figure({ href, label, value, isBad = false }: { href: string; label: string; value: string | undefined; isBad?: boolean }) {
  return (
    <a class={`figure stack top ${isBad ? "is-bad" : ""}`} href={href}>
      <span class="figure-value">{value ?? "–"}</span>
      <span class="figure-label xs muted">{label}</span>
    </a>
  );
}

function NoRuns({ days }: { days: number }) {
  return (
    <div class="card">
      <Empty icon="cost" title={`No agent thought in the last ${LENGTHS.find(([length]) => length === days)?.[1] ?? "days"}`}>
        <p>Tokens are counted when a resident thinks. Write to one in a space, or look at a longer time.</p>
        <a class="button" href="/cost?days=90">
          Show 90 days
        </a>
      </Empty>
    </div>
  );
}
