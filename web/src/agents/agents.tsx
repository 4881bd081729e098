/** Agents: who they are and what they do now; with a name in the address, one of them. */

import "./agents.css";

import type { Agent } from "@gatepost/client";

import { useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { agents, displayName } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client, isAdministrator, me } from "../data/session.js";
import { buildPath, changeQuery, navigate, query, segments } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Name } from "../ui/name.js";
import { Avatar, Dots, Empty, Failure, Line, Skeleton } from "../ui/parts.js";
import { useRowKeys } from "../ui/row-keys.js";
import { formatSize, plural, toLine } from "../ui/text.js";
import { RelativeTime } from "../ui/time.js";
import { canOpen } from "../views.js";
import { AgentDialog } from "./agent-dialog.js";
import { AttentionBadge } from "./attention.js";
import { AgentPage } from "./agent.js";
import { ConnectDialog } from "./connect-dialog.js";
import { FirstAgentButton } from "./first-agent.js";
import { Reached } from "./reachability.js";
import { AgentBadge } from "./state.js";
import { STOP_KEY, StopButton, stopAgent } from "./stop.js";

export default function Agents() {
  const name = segments.value[1];
  return name === undefined ? <AgentList /> : <AgentPage key={name} name={name} />;
}

function AgentList() {
  const { agents: all, isLoading, error, runs } = agents().value;
  const team = query.value.get("team") ?? "";
  const teams = [...new Set(all.flatMap((agent) => agent.team ?? []))].sort();
  const list = all.filter((agent) => team === "" || agent.team === team).toSorted((a, b) => Number(runs[b.name] !== undefined) - Number(runs[a.name] !== undefined));
  const lastRuns = useLastRuns();
  const { index, item: selected } = useRowKeys("Agents", list, (agent) => navigate(buildPath("agents", agent.name)));
  const [open, setOpen] = useState<"agent" | "program" | undefined>(undefined);
  useCommands([
    ...(canOpen("/runs") ? [{ id: "runs", title: "Show the runs of all agents", group: "Agents", run: () => navigate("/runs") }] : []),
    ...(isAdministrator.value && selected !== undefined && runs[selected.name] !== undefined ? [{ id: "stop-agent", title: `Stop ${toLine(selected.displayName, 40)}`, group: "Agents", keys: STOP_KEY, run: () => void stopAgent(selected.name) }] : []),
    ...(isAdministrator.value ? [{ id: "new-agent", title: "New agent", group: "Agents", keys: "c", run: () => setOpen("agent") }, { id: "connect-program", title: "Connect an agent program", group: "Agents", keys: "n", run: () => setOpen("program") }] : []),
  ]);
  return (
    <>
      <header class={`view-head ${teams.length > 0 ? "has-tabs" : ""}`}>
        <h1>Agents</h1>
        {teams.length > 0 && (
          <nav class="tabs" aria-label="Team">
            {["", ...teams].map((name) => (
              <button key={name} class="tab" aria-current={name === team ? "page" : undefined} onClick={() => changeQuery({ team: name })}>
                {name === "" ? "All" : toLine(name, 30)}
              </button>
            ))}
          </nav>
        )}
        <span class="grow" />
        {canOpen("/runs") && (
          <a class="button" href="/runs">
            All runs
          </a>
        )}
        {isAdministrator.value && (
          <button class="button" title="Connect Claude Code, Codex or another program (n)" onClick={() => setOpen("program")}>
            <Icon name="terminal" size={14} /> Connect<span class="hide-phone"> a program</span>
          </button>
        )}
        {isAdministrator.value && (
          <button class="button primary" title="New agent (c)" onClick={() => setOpen("agent")}>
            <Icon name="plus" size={14} /> New<span class="hide-phone"> agent</span>
          </button>
        )}
      </header>
      <div class="view-body">
        {isLoading ? (
          <Skeleton />
        ) : error !== undefined && all.length === 0 ? (
          <Failure error={error} />
        ) : list.length === 0 ? (
          <Empty icon="agent" title="No agents yet">
            <p>A resident is an agent that Gatepost runs; a guest runs elsewhere.</p>
            {isAdministrator.value ? <FirstAgentButton /> : <p>The administrator adds agents.</p>}
          </Empty>
        ) : (
          <ul class="card-grid">
            {list.map((agent, position) => (
              <li key={agent.name} class="agent-slot">
                <AgentCard agent={agent} runId={runs[agent.name]} isSelected={position === index} lastRun={lastRuns?.get(agent.name)} />
                <StopButton agent={agent.name} isSmall hasKey={position === index} />
              </li>
            ))}
          </ul>
        )}
      </div>
      {open === "agent" && <AgentDialog onClose={() => setOpen(undefined)} />}
      {open === "program" && <ConnectDialog onClose={() => setOpen(undefined)} />}
    </>
  );
}

interface CardProps {
  agent: Agent;
  runId: string | undefined;
  isSelected: boolean;
  lastRun: { startedAt: string; summary: string } | undefined;
}

function AgentCard({ agent, runId, isSelected, lastRun }: CardProps) {
  const place = [agent.role, agent.team && `team ${agent.team}`, agent.owner && (agent.owner === me.value ? "yours" : `of ${displayName(agent.owner)}`)].filter(Boolean).join(", ");
  return (
    <a class={`card agent-card stack gap-2 pad ${isSelected ? "is-selected" : ""}`} href={buildPath("agents", agent.name)}>
      <div class="line gap-3">
        <Avatar name={agent.displayName} isActive={runId !== undefined} />
        <div class="grow agent-names stack">
          <Name name={agent.name} label={agent.displayName} class="agent-name strong" />
          <Line text={place === "" ? (agent.resident ? "resident" : "guest") : place} class="muted xs" />
        </div>
        <AgentBadge agent={agent} runId={runId} />
      </div>
      <p class="agent-last line gap-2 muted sm">
        {runId !== undefined ? (
          <>
            <Dots /> <span>It reads and answers now</span>
          </>
        ) : lastRun ? (
          <Line text={lastRun.summary === "" ? "No summary" : lastRun.summary} />
        ) : (
          <span>{!agent.resident ? "A guest: its program reads its inbox" : agent.cycles === 0 ? "No runs yet" : "Waits for an item in its inbox"}</span>
        )}
        {lastRun && runId === undefined && <RelativeTime hasAgo time={lastRun.startedAt} />}
      </p>
      <p class="agent-numbers line gap-4 xs muted">
        {agent.resident ? (
          <>
            <span>{plural(agent.cycles, "run")}</span>
            <span>{formatSize(agent.mindTokens)} tokens remembered</span>
          </>
        ) : (
          <>
            <span>runs in a program of its own</span>
            {agent.reachability && <Reached reachability={agent.reachability} isShort />}
          </>
        )}
        {agent.attention && <AttentionBadge attention={agent.attention} />}
        {agent.failures > 0 && <span class="danger-text">{plural(agent.failures, "failure")}</span>}
      </p>
    </a>
  );
}

/** Return the newest run of each agent that came to something, or else the newest. */
function useLastRuns() {
  const { runs } = agents().value;
  const { value } = useLoad((signal) => client.listRuns({ limit: 200 }, { signal }), [Object.keys(runs).sort().join()]);
  if (value === undefined) return undefined;
  const oldestFirst = value.items.toReversed();
  const lastRuns = new Map(oldestFirst.map((run) => [run.agent, run]));
  // What it did last says more than that it had nothing to do since.
  for (const run of oldestFirst) if (run.summary !== "") lastRuns.set(run.agent, run);
  return lastRuns;
}
