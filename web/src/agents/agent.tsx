/** One agent: its wakes on a time line, its mind, what it remembers and wants, and its plans. */

import type { Agent } from "@gatepost/client";

import { useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { agents, agentsStore, displayName } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client, isAdministrator, me } from "../data/session.js";
import { buildPath, navigate, segments } from "../router.js";
import { useSubject } from "../title.js";
import { ConfirmDialog } from "../ui/confirm-dialog.js";
import { Icon } from "../ui/icons.js";
import { PlainText } from "../ui/markdown.js";
import { Name } from "../ui/name.js";
import { Avatar, Unloaded } from "../ui/parts.js";
import { formatSize, toLine } from "../ui/text.js";
import { toSessionName } from "../chat/session-id.js";
import { openConversation } from "../chat/start.js";
import { attempt, showToast } from "../ui/toasts.js";
import { AgentDialog } from "./agent-dialog.js";
import { AttentionBadge, AttentionDialog } from "./attention.js";
import { ConnectDialog } from "./connect-dialog.js";
import { GuestActivity } from "./guest.js";
import { Goals, Memories, MindView, Plans } from "./mind.js";
import { describeKind, Profile } from "./profile.js";
import { Reached } from "./reachability.js";
import { RunTimeline } from "./timeline.js";
import { AgentBadge, formatRest, hasUsedUpBudget } from "./state.js";
import { STOP_KEY, StopButton, stopAgent } from "./stop.js";

type Tabs = readonly (readonly [string, string])[];

const TABS: Tabs = [
  ["runs", "Runs"],
  ["mind", "Mind"],
  ["memories", "Memories"],
  ["goals", "Goals"],
  ["plans", "Plans"],
  ["about", "About"],
];

/** What a guest has: it thinks elsewhere, so its runs and its mind are not here. */
const GUEST_TABS: Tabs = [
  ["sessions", "Sessions"],
  ["about", "About"],
  ["plans", "Plans"],
];

export function AgentPage({ name }: { name: string }) {
  const { value: agent, error, reload } = useLoad((signal) => client.showAgent({ name }, { signal }), [name]);
  useSubject(agent?.displayName);
  if (agent === undefined) return <Unloaded title="Agent" back="/agents" backLabel="All agents" error={error} onRetry={reload} />;
  if (isAdministrator.value) return <WholeAgent agent={agent} reload={reload} />;
  if (agent.owner === me.value) return <OwnedAgent agent={agent} />;
  return (
    <>
      <header class="view-head">
        <AgentHead agent={agent} />
      </header>
      <div class="view-body">
        <Profile agent={agent} />
      </div>
    </>
  );
}

function AgentHead({ agent }: { agent: Agent }) {
  const runId = agents().value.runs[agent.name];
  return (
    <>
      <a class="icon-button" href="/agents" aria-label="All agents">
        <Icon name="back" />
      </a>
      <Avatar name={agent.displayName} isActive={runId !== undefined} />
      <h1 class="line-text">
        <Name name={agent.name} label={agent.displayName} limit={80} />
      </h1>
      <AgentBadge agent={agent} runId={runId} />
      {agent.reachability && (
        <span class="hide-phone">
          <Reached reachability={agent.reachability} isShort />
        </span>
      )}
    </>
  );
}

/** What the owner of an agent may see: what it does, what it remembers and wants. Only the administrator changes it. */
function OwnedAgent({ agent }: { agent: Agent }) {
  const { name } = agent;
  const tabs = listTabs(agent).filter(([id]) => id !== "plans");
  const tab = findTab(tabs);
  useTabCommands(name, tabs);
  return (
    <>
      <header class="view-head">
        <AgentHead agent={agent} />
      </header>
      {tabs.length > 1 && <AgentTabs name={name} tabs={tabs} tab={tab} />}
      <div class="view-body">{tab === "about" ? <Profile agent={agent} /> : <AgentPart name={name} tab={tab} />}</div>
    </>
  );
}

function listTabs(agent: Agent): Tabs {
  return agent.resident ? TABS : GUEST_TABS;
}

/** Return the tab of the address, or the first one. */
function findTab(tabs: Tabs): string {
  return (tabs.find(([id]) => id === segments.value[2]) ?? tabs[0])?.[0] ?? "about";
}

function useTabCommands(name: string, tabs: Tabs): void {
  useCommands(tabs.map(([id, label], index) => ({ id: `tab-${id}`, title: `Show ${label.toLowerCase()}`, group: "Agent", keys: String(index + 1), run: () => navigate(tabPath(name, id)) })));
}

function AgentTabs({ name, tabs, tab }: { name: string; tabs: Tabs; tab: string }) {
  return (
    <nav class="tabs agent-tabs view-bar" aria-label="About the agent">
      {tabs.map(([id, label]) => (
        <a key={id} class="tab" href={tabPath(name, id)} aria-current={id === tab ? "page" : undefined}>
          {label}
        </a>
      ))}
    </nav>
  );
}

function AgentPart({ name, tab }: { name: string; tab: string }) {
  if (tab === "mind") return <MindView name={name} />;
  if (tab === "memories") return <Memories name={name} />;
  if (tab === "goals") return <Goals name={name} />;
  if (tab === "plans") return <Plans name={name} />;
  if (tab === "sessions") return <GuestActivity name={name} />;
  return <RunTimeline agent={name} />;
}

/** All of an agent, with what can be done to it. */
function WholeAgent({ agent, reload }: { agent: Agent; reload: () => void }) {
  const { name } = agent;
  const tabs = listTabs(agent);
  const tab = findTab(tabs);
  const { value: account } = useLoad((signal) => client.showAccount({ name }, { signal }), [name, agents().value.runs[name] ?? ""]);
  const change = async (action: () => Promise<unknown>, done: string) => {
    await attempt(action, done);
    reload();
    void agentsStore.refresh();
  };
  const isOut = hasUsedUpBudget(agent);
  const wake = () => {
    if (isOut) showToast(`It does not wake before ${formatRest(agent.restUntil ?? "")}: its budget is used up`, { isError: true });
    else void change(() => client.wakeAgent({ name }), "Agent woken");
  };
  const runId = agents().value.runs[name];
  const pause = () => void change(() => client.pauseAgent({ name }), runId === undefined ? "Agent paused" : "Agent paused: its run ends after this step");
  const resume = () => void change(() => client.resumeAgent({ name }), "Agent resumed");
  const [open, setOpen] = useState<"edit" | "retire" | "connect" | "attention" | undefined>(undefined);
  const close = () => setOpen(undefined);
  const isLive = agent.retiredAt === null;
  const write = () => openConversation(toSessionName(name) || null, name);
  const residentCommands = [
    { id: "wake", title: "Wake this agent", group: "Agent", keys: "w", run: wake },
    ...(runId === undefined ? [] : [{ id: "stop", title: "Stop the run of this agent", group: "Agent", keys: STOP_KEY, run: () => void stopAgent(name) }]),
    agent.paused ? { id: "resume", title: "Resume this agent", group: "Agent", keys: "p", run: resume } : { id: "pause", title: "Pause this agent", group: "Agent", keys: "p", run: pause },
  ];
  useCommands([
    ...(agent.resident && isLive ? residentCommands : []),
    ...(isLive && !agent.resident ? [{ id: "connect-agent", title: "Connect a program as this agent", group: "Agent", keys: "n", run: () => setOpen("connect") }] : []),
    ...(isLive
      ? [
          { id: "edit-agent", title: "Change this agent", group: "Agent", keys: "e", run: () => setOpen("edit") },
          { id: "retire-agent", title: "Retire this agent", group: "Agent", run: () => setOpen("retire") },
        ]
      : []),
    ...(isLive ? [{ id: "write-to-agent", title: "Write to this agent", group: "Agent", keys: "m", run: write }] : []),
    { id: "agent-inbox", title: "Open the inbox of this agent", group: "Agent", keys: "i", run: () => navigate(buildPath("inbox", name)) },
  ]);
  useTabCommands(name, tabs);
  return (
    <>
      <header class="view-head">
        <AgentHead agent={agent} />
        <span class="grow" />
        <a class="button" href={buildPath("inbox", name)} title="Inbox (i)">
          <Icon name="inbox" size={14} /> <span class="hide-phone">Inbox</span> {account && <span class="number">{account.pending}</span>}
        </a>
        {isLive && (
          <button class="button" title="Write to it (m)" onClick={write}>
            <Icon name="chat" size={14} /> <span class="hide-phone">Write to it</span>
          </button>
        )}
        {isLive && isOut && (
          <button class="button primary" onClick={() => setOpen("edit")}>
            Raise the budget
          </button>
        )}
        {isLive && (
          <button class="button" title="Change (e)" onClick={() => setOpen("edit")}>
            <Icon name="tool" size={14} /> <span class="hide-phone">Change</span>
          </button>
        )}
        {!agent.resident && isLive && (
          <button class="button" title="Connect a program (n)" onClick={() => setOpen("connect")}>
            <Icon name="terminal" size={14} /> Connect
          </button>
        )}
        {agent.resident && isLive && (
          <>
            {runId === undefined ? (
              <button class="button" title="Wake (w)" onClick={wake}>
                <Icon name="bolt" size={14} /> <span class="hide-phone">Wake</span>
              </button>
            ) : (
              <StopButton agent={name} hasKey />
            )}
            <button class="button" title={agent.paused ? "Resume (p)" : "Pause (p)"} onClick={agent.paused ? resume : pause}>
              <Icon name={agent.paused ? "play" : "pause"} size={14} /> <span class="hide-phone">{agent.paused ? "Resume" : "Pause"}</span>
            </button>
          </>
        )}
      </header>
      <AgentTabs name={name} tabs={tabs} tab={tab} />
      <div class="view-body">
        {agent.modelProblem && (
          <p class="notice danger text" role="alert">
            {agent.modelProblem.message}: <code>{agent.modelProblem.fix}</code>
          </p>
        )}
        {tab === "about" ? <About agent={agent} onOpen={isLive ? setOpen : undefined} /> : <AgentPart name={name} tab={tab} />}
      </div>
      {open === "connect" && <ConnectDialog agent={agent} onClose={close} />}
      {open === "edit" && <AgentDialog agent={agent} onClose={close} onDone={reload} />}
      {open === "attention" && <AttentionDialog entity={{ ...agent, kind: "agent" }} onClose={close} onDone={reload} />}
      {open === "retire" && (
        <ConfirmDialog title={`Retire ${toLine(agent.displayName, 40)}?`} action="Retire" onClose={close} onConfirm={() => change(() => client.retireAgent({ name }), "Agent retired")}>
          It receives nothing more, its plans end, and nobody can have its name again. What it wrote and did stays.
        </ConfirmDialog>
      )}
    </>
  );
}

function About({ agent, onOpen }: { agent: Agent; onOpen: ((dialog: "edit" | "retire" | "attention") => void) | undefined }) {
  const { config } = agent;
  return (
    <div class="agent-about stack gap-5">
      <dl class="facts">
        <dt>Name</dt>
        <dd>
          <code>{agent.name}</code>
        </dd>
        <dt>Kind</dt>
        <dd>{describeKind(agent)}</dd>
        {agent.presence && <dt>Presence</dt>}
        {agent.presence && <dd>{agent.presence}</dd>}
        {agent.attention && <dt>Attention</dt>}
        {agent.attention && (
          <dd>
            <AttentionBadge attention={agent.attention} />
          </dd>
        )}
        {agent.reachability && <dt>Reachable</dt>}
        {agent.reachability && (
          <dd>
            <Reached reachability={agent.reachability} />
          </dd>
        )}
        <dt>Team and role</dt>
        <dd class="text">{[agent.team, agent.role].filter(Boolean).join(", ") || "none"}</dd>
        <dt>Owner</dt>
        <dd class="text">{agent.owner === null ? "the administrator" : displayName(agent.owner)}</dd>
        {agent.resident && <dt>Runs</dt>}
        {agent.resident && <dd>{agent.cycles}</dd>}
        {agent.resident && <dt>Mind</dt>}
        {agent.resident && <dd>{formatSize(agent.mindTokens)} tokens</dd>}
        {config && <dt>Model</dt>}
        {config && <dd class="text">{`${config.model.provider}:${config.model.name}`}</dd>}
        {config?.budget && <dt>Budget</dt>}
        {config?.budget && <dd>{[config.budget.tokens && `${formatSize(config.budget.tokens)} tokens`, config.budget.cycles && `${config.budget.cycles} cycles`].filter(Boolean).join(", ")} per {config.budget.per}</dd>}
        {config && <dt>Tools</dt>}
        {config && <dd class="text">{config.tools.map((tool) => tool.name).join(", ") || "those of every agent"}</dd>}
      </dl>
      {config && config.instructions !== "" && (
        <section class="stack gap-2">
          <h2>Instructions</h2>
          <PlainText text={config.instructions} />
        </section>
      )}
      {onOpen && (
        <div class="line gap-2">
          <button class="button" onClick={() => onOpen("edit")}>
            <Icon name="tool" size={14} /> Change
          </button>
          <button class="button" onClick={() => onOpen("attention")}>
            <Icon name="bell" size={14} /> What may wake it
          </button>
          <button class="button danger" onClick={() => onOpen("retire")}>
            <Icon name="trash" size={14} /> Retire this agent
          </button>
        </div>
      )}
    </div>
  );
}

function tabPath(name: string, tab: string): string {
  return tab === "runs" || tab === "sessions" ? buildPath("agents", name) : buildPath("agents", name, tab);
}
