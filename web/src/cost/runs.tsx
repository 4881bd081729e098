/** Runs, the most expensive first: a few of them, and all that have something in common, as the address says. */

import "../agents/agents.css";

import type { EventType, Run, RunStatus } from "@gatepost/client";
import { useState } from "preact/hooks";

import { describeCause, describeStatus, runTone } from "../agents/describe.js";
import { useCommands } from "../commands.js";
import { displayName } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { usePages } from "../data/pages.js";
import { client } from "../data/session.js";
import { buildPath, changeQuery, navigate, query, withFilters } from "../router.js";
import { useSubject } from "../title.js";
import { Icon } from "../ui/icons.js";
import { Avatar, Dots, Empty, Failure, Line, Skeleton } from "../ui/parts.js";
import { formatSize, toLine } from "../ui/text.js";
import { attempt } from "../ui/toasts.js";
import { describeInstant, formatDuration, RelativeTime } from "../ui/time.js";
import { describeWake } from "./describe.js";
import { linkRuns, sumTokens } from "./usage.js";

const FEW = 8;
const PAGE_LENGTH = 60;
const FILTERS = ["agent", "model", "cause", "status", "stopped", "since", "until"] as const;

export function ExpensiveRuns({ agent, since }: { agent: string | undefined; since: string }) {
  const { value, error, reload } = useLoad((signal) => client.listExpensiveRuns({ since, limit: FEW, ...(agent === undefined ? {} : { agent }) }, { signal }), [agent ?? "", since]);
  if (value === undefined) return error === undefined ? <Skeleton rows={FEW} /> : <Failure error={error} onRetry={reload} />;
  return (
    <>
      <RunList runs={value.items} selected={-1} />
      {value.next !== null && (
        <a class="link" href={linkRuns({ agent, since })}>
          All runs by their tokens
        </a>
      )}
    </>
  );
}

/** All runs that a number counts. */
export function RunsByTokens() {
  const key = FILTERS.map((name) => query.value.get(name) ?? "").join("\n");
  return <FilteredRuns key={key} />;
}

function FilteredRuns() {
  const { items: runs, hasMore, isLoading, error, refresh, loadMore } = usePages((page, options) => client.listExpensiveRuns({ ...readFilters(), ...page }, options), ({ id }) => id, PAGE_LENGTH, "");
  const [selected, setSelected] = useState(-1);
  useSubject("Most expensive runs");
  const index = Math.min(selected, runs.length - 1);
  const back = withFilters("/cost", { agent: query.value.get("agent") ?? undefined });
  useCommands([
    { id: "next-run", title: "Next run", group: "Runs", keys: "j", run: () => setSelected(Math.min(runs.length - 1, index + 1)), isKeyOnly: true },
    { id: "previous-run", title: "Previous run", group: "Runs", keys: "k", run: () => setSelected(Math.max(0, index - 1)), isKeyOnly: true },
    { id: "open-run", title: "Open the selected run", group: "Runs", keys: "Enter", run: () => runs[index] && navigate(buildPath("runs", runs[index].id)), isKeyOnly: true },
    { id: "back-to-cost", title: "Back to cost", group: "Runs", keys: "Escape", run: () => navigate(back) },
  ]);
  return (
    <>
      <header class="view-head">
        <a class="icon-button" href={back} aria-label="Cost">
          <Icon name="back" />
        </a>
        <h1>Most expensive runs</h1>
      </header>
      <div class="view-body stack gap-5">
        <Chips />
        {isLoading ? (
          <Skeleton rows={10} />
        ) : runs.length === 0 && error !== undefined ? (
          <Failure error={error} onRetry={refresh} />
        ) : runs.length === 0 ? (
          <Empty icon="cost" title="No runs match">
            <p>Remove a filter, or look at all runs in the order in which they began.</p>
            <a class="button" href="/runs">
              Show all runs
            </a>
          </Empty>
        ) : (
          <>
            <RunList runs={runs} selected={index} />
            {hasMore && (
              <button class="button more-button" onClick={() => void attempt(loadMore)}>
                More runs
              </button>
            )}
          </>
        )}
      </div>
    </>
  );
}

function RunList({ runs, selected }: { runs: readonly Run[]; selected: number }) {
  const most = Math.max(1, ...runs.map(sumTokens));
  return (
    <ol class="card row-list">
      {runs.map((run, position) => (
        <li key={run.id}>
          <a class={`row dear-row ${position === selected ? "is-selected" : ""}`} href={buildPath("runs", run.id)}>
            <Avatar name={displayName(run.agent)} isSmall />
            <span class="stack">
              <span class="run-title line gap-2">
                <Line text={displayName(run.agent)} class="agent-name strong" />
                <span class="muted line-text">{describeCause(run.cause)}</span>
                {((run.status !== "completed" && run.status !== "skipped") || run.limit !== null) && <span class={`badge ${run.limit === "budget" ? "warn" : runTone(run)}`}>{describeStatus(run)}</span>}
              </span>
              <Line text={run.error ?? run.summary} class="muted" />
            </span>
            <Line text={run.model} class="muted hide-phone" />
            <span class="dear-tokens stack end" title={`${run.promptTokens.toLocaleString("en")} prompt, ${run.completionTokens.toLocaleString("en")} completion`}>
              <span class="number">{formatSize(sumTokens(run))} tok</span>
              <i class="dear-bar" style={{ width: `${(sumTokens(run) / most) * 100}%` }} />
            </span>
            <span class="number muted hide-phone">{run.durationMs === null ? <Dots /> : formatDuration(run.durationMs)}</span>
            <span class="number muted">
              <RelativeTime time={run.startedAt} />
            </span>
          </a>
        </li>
      ))}
    </ol>
  );
}

/** The filters of the address, each of which can be removed. */
function Chips() {
  const values = query.value;
  const chips: [string, string][] = [];
  const add = (name: string, describe: (value: string) => string) => {
    const value = values.get(name);
    if (value) chips.push([name, describe(value)]);
  };
  add("agent", (name) => toLine(displayName(name), 40));
  add("model", (name) => toLine(name, 40));
  add("cause", (cause) => `woken by ${toLine(describeWake(cause), 40)}`);
  add("status", (status) => toLine(status.replace("_", " "), 30));
  add("stopped", () => "stopped by a budget");
  add("since", (time) => `since ${describeInstant(time)}`);
  add("until", (time) => `until ${describeInstant(time)}`);
  if (chips.length === 0) return <p class="muted">The last 7 days</p>;
  return (
    <ul class="line wrap gap-2" aria-label="Filters">
      {chips.map(([name, text]) => (
        <li key={name}>
          <button class="button small filter-chip" aria-label={`Remove the filter: ${text}`} onClick={() => changeQuery({ [name]: undefined })}>
            <bdi class="line-text">{text}</bdi> ×
          </button>
        </li>
      ))}
    </ul>
  );
}

function readFilters() {
  const values = query.value;
  const pick = (name: string) => values.get(name) || undefined;
  const [agent, model, since, until] = ["agent", "model", "since", "until"].map(pick);
  const cause = pick("cause") as EventType | undefined;
  const status = pick("status") as RunStatus | undefined;
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(model === undefined ? {} : { model }),
    ...(cause === undefined ? {} : { cause }),
    ...(status === undefined ? {} : { status }),
    ...(pick("stopped") === undefined ? {} : { stopped: true }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  };
}
