/** Runs, the newest first: why an agent woke, what came of it, and what it took. */

import type { CallOptions, GatepostEvent, ListRuns, PageRequest, Run } from "@gatepost/client";
import { useEffect } from "preact/hooks";

import { follow } from "../data/feed.js";
import { displayName } from "../data/live.js";
import { useInterval } from "../data/load.js";
import { usePages } from "../data/pages.js";
import { client } from "../data/session.js";
import { buildPath, navigate } from "../router.js";
import { Name } from "../ui/name.js";
import { Avatar, Dots, Empty, Failure, Line, Skeleton } from "../ui/parts.js";
import { useRowKeys } from "../ui/row-keys.js";
import { formatSize, plural } from "../ui/text.js";
import { attempt } from "../ui/toasts.js";
import { Elapsed, formatDay, formatDuration, RelativeTime } from "../ui/time.js";
import { canOpen } from "../views.js";
import { describeCause, describeStatus, runTone } from "./describe.js";
import { TokenChart } from "./token-chart.js";

const PAGE_LENGTH = 60;

interface TimelineProps {
  /** Whose runs: those of all agents, if nobody is named. */
  agent?: string;
  /** Return the filters of a request; with `filters`, by which a list of others is known. */
  load?: () => ListRuns;
  filters?: string;
  isFiltered?: boolean;
}

/** The runs of one agent, or of all that the filters let through. */
export function RunTimeline({ agent, load: readFilters, filters, isFiltered = false }: TimelineProps) {
  const load = (page: PageRequest, options?: CallOptions) => client.listRuns({ ...(agent === undefined ? readFilters?.() : { agent }), ...page }, options);
  const { items: runs, hasMore, isLoading, error, refresh, loadMore } = usePages(load, ({ id }) => id, PAGE_LENGTH, `${agent ?? ""}\n${filters ?? ""}`);
  useInterval(refresh, 15_000);
  useEffect(() => {
    const matters = ({ event, data }: GatepostEvent) => (event === "agent.active" || event === "agent.inactive") && (agent === undefined || data.agent === agent);
    return follow(matters, refresh);
  }, [refresh]);
  const { index } = useRowKeys("Runs", runs, (run) => navigate(buildPath("runs", run.id)));
  if (isLoading) return <Skeleton />;
  if (runs.length === 0 && error !== undefined) return <Failure error={error} onRetry={refresh} />;
  if (runs.length === 0 && isFiltered) {
    return (
      <Empty icon="search" title="No runs match">
        <a class="button" href="/runs">
          Show all runs
        </a>
      </Empty>
    );
  }
  if (runs.length === 0) {
    return (
      <Empty icon="bolt" title="No runs yet">
        <p>An agent wakes when its inbox has an item: a message in its space, mail, a due plan. Push an event to try it.</p>
        {(agent === undefined || canOpen(buildPath("inbox", agent))) && (
          <a class="button" href={agent === undefined ? "/agents" : buildPath("inbox", agent)}>
            {agent === undefined ? "Go to agents" : "Open its inbox"}
          </a>
        )}
      </Empty>
    );
  }
  return (
    <>
      <TokenChart runs={runs.slice(0, PAGE_LENGTH)} />
      <ol class="card run-list">
        {runs.map((run, position) => {
          const before = runs[position - 1];
          const day = formatDay(run.startedAt);
          return (
            <li key={run.id}>
              {(before === undefined || formatDay(before.startedAt) !== day) && <p class="run-day muted xs strong">{day}</p>}
              <RunRow run={run} isSelected={position === index} showAgent={agent === undefined} />
            </li>
          );
        })}
      </ol>
      {hasMore && (
        <button class="button more-button" onClick={() => void attempt(loadMore)}>
          Older runs
        </button>
      )}
    </>
  );
}

function RunRow({ run, isSelected, showAgent }: { run: Run; isSelected: boolean; showAgent: boolean }) {
  const text = run.status === "failed" ? (run.error ?? "") : run.summary;
  return (
    <a class={`row run-row ${isSelected ? "is-selected" : ""}`} href={buildPath("runs", run.id)}>
      <span class={`mark ${runTone(run)}`} />
      <span class="stack">
        <span class={`run-title line gap-2 ${showAgent ? "has-agent" : ""}`}>
          {showAgent && <Avatar name={displayName(run.agent)} isSmall />}
          {showAgent && <Name name={run.agent} class="agent-name strong" />}
          <span class="line-text run-cause">{describeCause(run.cause)}</span>
          {run.events > 0 && <span class="muted hide-phone">{plural(run.events, "event")}</span>}
          {(run.status !== "completed" || run.limit !== null) && <span class={`badge ${runTone(run)}`}>{describeStatus(run)}</span>}
        </span>
        {text !== "" && <Line text={text} class="muted" />}
      </span>
      <span class="number muted hide-phone">{plural(run.steps, "step")}</span>
      <span class="number muted">{formatSize(run.promptTokens + run.completionTokens)} tok</span>
      <span class="number muted hide-phone">{run.status === "running" ? <Elapsed since={run.startedAt} /> : run.durationMs === null ? "" : formatDuration(run.durationMs)}</span>
      <span class="number muted">{run.status === "running" ? <Dots /> : <RelativeTime time={run.startedAt} />}</span>
    </a>
  );
}
