/** Home: what needs the person, who thinks now, and what happened in the last hour. */

import "./home.css";
import "../decisions/decisions.css";

import type { Overview, Recent, Thinking as ThinkingAgent, Waiting } from "@gatepost/client";
import { useEffect } from "preact/hooks";

import { describeCause } from "../agents/describe.js";
import { follow } from "../data/feed.js";
import { account, agents, agentsStore } from "../data/live.js";
import { useInterval, useLoad } from "../data/load.js";
import { client, isAdministrator, me } from "../data/session.js";
import { unreadCount } from "../data/spaces.js";
import { DecisionCard } from "../decisions/card.js";
import { describeType } from "../inbox/describe.js";
import { buildPath, navigate, withFilters } from "../router.js";
import { FirstAgentButton } from "../agents/first-agent.js";
import { Icon } from "../ui/icons.js";
import { Name } from "../ui/name.js";
import { Avatar, Dots, Empty, Failure, Line, Priority, Skeleton } from "../ui/parts.js";
import { useRowKeys } from "../ui/row-keys.js";
import { formatSize, plural, stripMarks } from "../ui/text.js";
import { Elapsed, RelativeTime } from "../ui/time.js";
import { canOpen } from "../views.js";
import { listActivity } from "./activity.js";

/** Milliseconds between two looks for the first agent, which no event tells of. */
const FIRST_STEPS_INTERVAL = 3_000;
const MAX_DECISIONS = 3;
const MAX_ITEMS = 8;
const MAX_ENTRIES = 14;
const LIMIT = 20;
/** Events after which the overview is another one. */
const CHANGES = /^(agent\.|decision\.|inbox\.item|space\.message$)/;

export default function Home() {
  const { value, error, reload, refresh } = useLoad((signal) => client.showOverview({ limit: LIMIT }, { signal }), [me.value]);
  useInterval(reload, 15_000);
  useEffect(() => follow(({ event }) => CHANGES.test(event), refresh), []);
  return (
    <>
      <header class="view-head">
        <h1>Home</h1>
      </header>
      <div class="view-body home">
        {error !== undefined && value === undefined ? (
          <Failure error={error} onRetry={reload} />
        ) : (
          <>
            <Summary overview={value} />
            <div class="columns home-columns">
              <section class="stack gap-2" aria-labelledby="needs-you">
                <h2 id="needs-you">Needs you</h2>
                <NeedsYou waiting={value?.waiting} />
              </section>
              <div class="stack gap-5">
                <section class="stack gap-2" aria-labelledby="thinking">
                  <h2 id="thinking">Thinking now</h2>
                  <Thinking list={value?.thinking} />
                </section>
                <section class="stack gap-2" aria-labelledby="last-hour">
                  <h2 id="last-hour">The last hour</h2>
                  <Activity recent={value?.recent} />
                </section>
              </div>
            </div>
          </>
        )}
      </div>
    </>
  );
}

function Summary({ overview }: { overview: Overview | undefined }) {
  const dead = account.value?.dead ?? 0;
  const usage = overview?.recent.usage;
  const alerts = overview?.waiting.alertCount ?? 0;
  const runsPath = withFilters("/runs", { since: overview?.recent.since });
  return (
    <nav class="summary" aria-label="Numbers">
      <Figure href="/decisions" label="to decide" value={overview?.waiting.decisionCount} isUrgent={(overview?.waiting.decisionCount ?? 0) > 0} />
      <Figure href="/inbox" label="in your inbox" value={overview?.waiting.itemCount} />
      {alerts > 0 && <Figure href="/inbox?type=alert" label={alerts === 1 ? "alert" : "alerts"} value={alerts} isUrgent />}
      {dead > 0 && <Figure href="/inbox?state=dead" label={dead === 1 ? "dead item" : "dead items"} value={dead} isUrgent />}
      <Figure href="/spaces" label={unreadCount.value === 1 ? "unread message" : "unread messages"} value={unreadCount.value} />
      <Figure href="/agents" label={overview?.thinking.length === 1 ? "agent thinking" : "agents thinking"} value={overview?.thinking.length} />
      {canOpen("/runs") && <Figure href={runsPath} label={`${usage?.runs === 1 ? "run" : "runs"} in the last hour`} value={usage?.runs} />}
      {canOpen("/runs") && <Figure href={runsPath} label="tokens in the last hour" value={usage && usage.promptTokens + usage.completionTokens} />}
    </nav>
  );
}

function Figure({ href, label, value, isUrgent = false }: { href: string; label: string; value: number | undefined; isUrgent?: boolean }) {
  return (
    <a class={`figure stack top ${isUrgent ? "is-urgent" : ""}`} href={href}>
      <span class="figure-value">{value === undefined ? "–" : formatSize(value)}</span>
      <span class="figure-label xs muted">{label}</span>
    </a>
  );
}

function NeedsYou({ waiting }: { waiting: Waiting | undefined }) {
  const decisions = waiting?.decisions.slice(0, MAX_DECISIONS) ?? [];
  // A question is shown as a card, not a second time as an item.
  const items = waiting?.items.filter((item) => item.type !== "decision").slice(0, MAX_ITEMS) ?? [];
  const paths = [...decisions.map(({ id }) => buildPath("decisions", id)), ...items.map((item) => buildPath("inbox", item.recipient, item.eventId))];
  const { item: selected } = useRowKeys("Home", paths, navigate, (path) => path);
  if (waiting === undefined) return <Skeleton />;
  if (decisions.length === 0 && items.length === 0) {
    const { agents: all, isLoading } = agents().value;
    if (isAdministrator.value && !isLoading && all.length === 0) return <FirstSteps />;
    return (
      <div class="card">
        <Empty icon="check" title="Nothing needs you">
          <p>Questions of agents, mail and alerts appear here. You can talk to your agents in a space meanwhile.</p>
          <a class="button" href="/spaces">
            Go to spaces
          </a>
        </Empty>
      </div>
    );
  }
  const others = waiting.decisionCount - MAX_DECISIONS;
  const rest = waiting.itemCount - items.length - waiting.items.filter((item) => item.type === "decision").length;
  return (
    <div class="stack gap-3">
      {decisions.map((decision) => (
        <DecisionCard key={decision.id} decision={decision} isSelected={selected === buildPath("decisions", decision.id)} />
      ))}
      {others > 0 && (
        <a class="link" href="/decisions">
          {plural(others, "more decision")}
        </a>
      )}
      {items.length > 0 && (
        <ul class="card row-list">
          {items.map((item) => (
            <li key={item.eventId}>
              <a class={`row home-row line ${selected === buildPath("inbox", item.recipient, item.eventId) ? "is-selected" : ""}`} href={buildPath("inbox", item.recipient, item.eventId)}>
                <Priority level={item.priority} />
                <span class="home-who strong">
                  <Name name={item.sender} label={item.senderName ?? item.source} outside="a service" limit={40} />
                </span>
                <Line text={item.subject ?? stripMarks(item.content.slice(0, 400))} class="grow" />
                <span class="muted hide-phone">{describeType(item.type)}</span>
                <RelativeTime time={item.createdAt} />
              </a>
            </li>
          ))}
          {rest > 0 && (
            <li>
              <a class="row home-row line link" href="/inbox">
                {plural(rest, "more item")} in your inbox
              </a>
            </li>
          )}
        </ul>
      )}
    </div>
  );
}

/** What to do in a home without agents. */
function FirstSteps() {
  useInterval(() => void agentsStore.refresh(), FIRST_STEPS_INTERVAL);
  return (
    <div class="card">
      <Empty icon="agent" title="Add your first agent">
        <p>This one answers without a model and without a key, so that you see how it works. Then you write to it.</p>
        <FirstAgentButton />
      </Empty>
    </div>
  );
}

function Thinking({ list }: { list: readonly ThinkingAgent[] | undefined }) {
  if (list === undefined) return <Skeleton rows={2} />;
  if (list.length === 0) return <p class="card pad sm muted">No agent is thinking. An agent wakes when its inbox has an item.</p>;
  return (
    <ul class="card row-list">
      {list.map((agent) => (
        <li key={agent.agent}>
          <a class="row home-row line" href={agent.run === null || !canOpen("/runs") ? buildPath("agents", agent.agent) : buildPath("runs", agent.run)}>
            <Avatar name={agent.displayName} isSmall />
            <Name name={agent.agent} label={agent.displayName} class="strong" />
            <span class="muted grow line-text">{agent.cause === null ? "" : describeCause(agent.cause)}</span>
            <Dots />
            <Elapsed since={agent.since} />
          </a>
        </li>
      ))}
    </ul>
  );
}

function Activity({ recent }: { recent: Recent | undefined }) {
  if (recent === undefined) return <Skeleton />;
  const list = listActivity(recent, canOpen("/runs"));
  if (list.length === 0) {
    return <p class="card pad sm muted">Nothing happened in your spaces, and no decision was asked or answered.</p>;
  }
  return (
    <ul class="card row-list">
      {list.slice(0, MAX_ENTRIES).map((entry) => (
        <li key={entry.id}>
          <a class={`row home-row line ${entry.text === "" ? "" : "top quiet-icon"}`} href={entry.href}>
            <Icon name={entry.icon} size={15} />
            <span class="grow stack">
              <span class="line nowrap">
                <Line text={entry.who} limit={40} class="strong" />
                <Line text={entry.what} limit={80} class="muted" />
              </span>
              {entry.text !== "" && <Line text={entry.text} class="muted" />}
            </span>
            <RelativeTime time={entry.at} />
          </a>
        </li>
      ))}
    </ul>
  );
}
