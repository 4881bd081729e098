/** Gates: what keeps agents from stopping, whom they wait for, and since when. */

import "./decisions.css";

import { GatepostError, type Gate, type GateKind } from "@gatepost/client";
import { useEffect, useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { follow } from "../data/feed.js";
import { decisions, displayName, findEntity } from "../data/live.js";
import { useInterval, useLoad } from "../data/load.js";
import { client, isAdministrator, me } from "../data/session.js";
import { buildPath, keepQuery, navigate, query, segments } from "../router.js";
import { useSubject } from "../title.js";
import { Icon, type IconName } from "../ui/icons.js";
import { Markdown } from "../ui/markdown.js";
import { Name } from "../ui/name.js";
import { Avatar, Empty, Failure, Line, Skeleton } from "../ui/parts.js";
import { useRowKeys } from "../ui/row-keys.js";
import { useSubmission } from "../ui/submission.js";
import { toLine } from "../ui/text.js";
import { attempt } from "../ui/toasts.js";
import { Countdown, Elapsed, RelativeTime } from "../ui/time.js";
import { GateDialog } from "./gate-dialog.js";

const KIND_ICONS: Record<GateKind, IconName> = {
  ci: "bolt",
  command: "tool",
  decision: "decision",
  event: "inbox",
  human: "person",
  mail: "mail",
  timer: "clock",
};

export default function Gates() {
  const isEnded = query.value.get("show") === "ended";
  const openId = segments.value[1];
  const { value, error, reload, refresh } = useLoad(async (signal) => {
    const page = await client.listGates({ pending: !isEnded, newestFirst: true, limit: 500 }, { signal });
    const list: Gate[] = [...page.items];
    if (openId !== undefined && !list.some(({ id }) => id === openId)) {
      await client.showGate({ id: openId }, { signal }).then(
        (gate) => list.unshift(gate),
        (error: unknown) => {
          if (!(error instanceof GatepostError && error.status === 404)) throw error;
        },
      );
    }
    return { gates: list, openId };
  }, [isEnded]);
  useInterval(refresh, 15_000);
  useEffect(() => follow(({ event }) => event.startsWith("gate."), refresh), []);

  const list = value?.gates ?? [];
  const isListed = openId === undefined || list.some(({ id }) => id === openId);
  const isHidden = !isListed && value?.openId === openId;
  useEffect(() => void (isListed || reload()), [openId]);
  useSubject(openId === undefined ? undefined : list.find(({ id }) => id === openId)?.name);
  const toggle = (gate: Gate) => navigate(keepQuery(gate.id === openId ? "/gates" : buildPath("gates", gate.id)), { replace: true });
  const { index } = useRowKeys("Gates", list, toggle);
  const [isAdding, setAdding] = useState(false);
  useCommands([{ id: "new-gate", title: "Add a gate", group: "Gates", keys: "c", run: () => setAdding(true) }]);

  return (
    <>
      <header class="view-head">
        <h1>Gates</h1>
        <nav class="tabs" aria-label="Which gates">
          <a class="tab" href="/gates" aria-current={isEnded ? undefined : "page"}>
            Pending {!isEnded && value && <span class="number">{list.length}</span>}
          </a>
          <a class="tab" href="/gates?show=ended" aria-current={isEnded ? "page" : undefined}>
            Ended
          </a>
        </nav>
        <span class="grow" />
        <button class="button" title="New gate (c)" onClick={() => setAdding(true)}>
          <Icon name="plus" size={14} /> <span class="hide-phone">New gate</span>
        </button>
      </header>
      <div class="view-body">
        {isHidden && (
          <p class="notice">
            <span class="grow">You cannot see this gate: there is none with this id, or it concerns others.</span>
            <a class="button small" href="/gates">
              Show your gates
            </a>
          </p>
        )}
        {error !== undefined && value === undefined ? (
          <Failure error={error} onRetry={reload} />
        ) : value === undefined ? (
          <Skeleton />
        ) : list.length === 0 && isHidden ? null : list.length === 0 ? (
          <Empty icon="gate" title={isEnded ? "No gate has ended yet" : isAdministrator.value ? "No pending gates" : "No gates that concern you are pending"}>
            <p>
              A gate keeps an agent from stopping until a person, a time, an event or a command lets it.
            </p>
            <button class="button" onClick={() => setAdding(true)}>
              Add a gate
            </button>
          </Empty>
        ) : (
          <ul class="card row-list">
            <li class="list-head gate-head hide-phone" aria-hidden="true">
              <span />
              <span>Gate</span>
              <span>Agent</span>
              <span>Waits for</span>
              <span class="number">{isEnded ? "Outcome" : "Deadline"}</span>
              <span>{isEnded ? "Ended" : "Since"}</span>
            </li>
            {list.map((gate, position) => (
              <li key={gate.id} class={position === index ? "is-selected" : ""}>
                <GateRow gate={gate} isOpen={gate.id === openId} onToggle={() => toggle(gate)} />
                {gate.id === openId && <GateDetail gate={gate} onChange={reload} />}
              </li>
            ))}
          </ul>
        )}
      </div>
      {isAdding && <GateDialog onClose={() => setAdding(false)} onDone={reload} />}
    </>
  );
}

function GateRow({ gate, isOpen, onToggle }: { gate: Gate; isOpen: boolean; onToggle: () => void }) {
  return (
    <button class="row gate-row" aria-expanded={isOpen} onClick={onToggle}>
      <span title={gate.kind}>
        <Icon name={KIND_ICONS[gate.kind]} />
      </span>
      <Line text={findDecision(gate)?.question ?? gate.name} class="phone-1-2 strong" />
      <span class="phone-2-2 line">
        <Avatar name={displayName(gate.owner)} kind={findEntity(gate.owner)?.kind ?? "agent"} isSmall />
        <Name name={gate.owner} />
      </span>
      <Line text={describeWait(gate)} class="gate-awaits muted" />
      <span class="line end phone-2-3">
        {gate.trouble !== null && <span class="badge danger">check fails</span>}
        {gate.status === "pending" && gate.deadline !== null && <Countdown time={gate.deadline} />}
        {gate.status !== "pending" && <span class={`badge ${gate.status === "resolved" ? "accent" : ""}`}>{gate.status}</span>}
      </span>
      <span class="number muted phone-1-3">{gate.status === "pending" ? <RelativeTime time={gate.createdAt} /> : <RelativeTime time={gate.resolution?.at ?? gate.createdAt} />}</span>
    </button>
  );
}

function GateDetail({ gate, onChange }: { gate: Gate; onChange: () => void }) {
  const [reason, setReason] = useState("");
  const { isBusy, submit } = useSubmission();
  /** Whether it has ended here, before the list says so. */
  const [isEnded, setEnded] = useState(false);
  const end = (withdraw: boolean) =>
    submit(async () => {
      const isDone = await attempt(() => client.resolveGate({ id: gate.id, reason, withdraw, by: me.value }), withdraw ? "Gate withdrawn" : "Gate resolved");
      setEnded(isDone);
      onChange();
      return isDone;
    });
  return (
    <div class="gate-more row-more stack gap-3">
      {gate.instruction !== "" && <Markdown text={gate.instruction} />}
      {gate.trouble !== null && <p class="notice danger text">{toLine(gate.trouble, 600)}</p>}
      <dl class="facts">
        <dt>Owner</dt>
        <dd>
          <a class="link text" href={buildPath("agents", gate.owner)}>
            {toLine(displayName(gate.owner), 80)}
          </a>
        </dd>
        <dt>Waits for</dt>
        <dd class="text">{toLine(describeWait(gate), 300)}</dd>
        <dt>{gate.status === "pending" ? "Waiting since" : "Ended"}</dt>
        <dd>
          {gate.resolution === null ? <Elapsed since={gate.createdAt} /> : <RelativeTime time={gate.resolution.at} />}
          {gate.resolution !== null && <span class="text">{` by ${gate.resolution.by ?? "itself"}${gate.resolution.reason ? `: ${toLine(gate.resolution.reason, 500)}` : ""}`}</span>}
        </dd>
        <dt>Made by</dt>
        <dd class="text">{gate.madeBy ?? "nobody here"}</dd>
        {gate.waiters.length > 0 && <dt>Waiters</dt>}
        {gate.waiters.length > 0 && <dd class="text">{toLine(gate.waiters.map(displayName).join(", "), 300)}</dd>}
        <dt>At its deadline</dt>
        <dd>{gate.deadline === null ? "it has none" : gate.atDeadline === "open" ? "it ends" : "it stays pending, and the owner gets an alert"}</dd>
      </dl>
      {gate.status === "pending" && gate.kind !== "decision" && !isEnded && (
        <form class="decision-answers line wrap gap-2" onSubmit={(event) => (event.preventDefault(), void end(false))}>
          <input class="field gate-reason" placeholder="Why (optional)" aria-label="Reason" value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
          <button class="button primary" disabled={isBusy}>
            Resolve
          </button>
          <button class="button" type="button" disabled={isBusy} onClick={() => void end(true)}>
            Withdraw
          </button>
        </form>
      )}
      {gate.kind === "decision" && gate.status === "pending" && (
        <a class="link" href={gate.awaits === null ? "/decisions?show=open" : buildPath("decisions", gate.awaits)}>
          Open the decision
        </a>
      )}
    </div>
  );
}

/** Return the open decision behind a gate. */
function findDecision(gate: Gate) {
  return gate.kind === "decision" ? decisions().value.decisions.find((decision) => decision.gate === gate.id) : undefined;
}

function describeWait(gate: Gate): string {
  switch (gate.kind) {
    case "human":
      return gate.awaits === null ? "anybody who resolves it" : displayName(gate.awaits);
    case "timer":
      return "its time to pass";
    case "decision":
      return `an answer from ${findDecision(gate)?.asked.map(displayName).join(" or ") ?? "somebody"}`;
    case "mail":
      return `mail from ${displayName(gate.awaits ?? "anybody")}`;
    default:
      return `${gate.kind} ${gate.awaits ?? ""}`;
  }
}
