/** Decisions: those that wait for somebody, and those that have ended. */

import "./decisions.css";

import type { Decision } from "@gatepost/client";
import { useEffect, useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { queuedDecisions } from "../data/answer-queue.js";
import { decisions, displayName, findEntity, snoozedDecisions } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client, isAdministrator, me } from "../data/session.js";
import { buildPath, changeQuery, navigate, query, segments } from "../router.js";
import { useSubject } from "../title.js";
import { Icon } from "../ui/icons.js";
import { Empty, Failure, Line, Skeleton } from "../ui/parts.js";
import { useRowKeys } from "../ui/row-keys.js";
import { toLine } from "../ui/text.js";
import { formatExact, RelativeTime } from "../ui/time.js";
import { AskDialog } from "./ask-dialog.js";
import { describeOutcome, findAlike, sendAnswers } from "./answers.js";
import { DecisionCard } from "./card.js";

export default function Decisions() {
  const id = segments.value[1];
  return id === undefined ? <DecisionList /> : <DecisionPage id={id} />;
}

function DecisionList() {
  const show = query.value.get("show") ?? "mine";
  const { decisions: all, isLoading, error } = decisions().value;
  const open = all.filter(({ status }) => status === "pending" || status === "revising").toSorted(compare);
  const waiting = open.filter((decision) => !queuedDecisions.value.has(decision.id));
  const asked = waiting.filter((decision) => decision.asked.includes(me.value));
  const mine = asked.filter((decision) => !snoozedDecisions.value.has(decision.id));
  const snoozed = asked.filter((decision) => snoozedDecisions.value.has(decision.id));
  const list = show === "open" ? waiting : show === "snoozed" ? snoozed : mine;
  const [isAsking, setAsking] = useState(false);
  const [selected, setSelected] = useState(-1);
  const index = Math.min(selected, list.length - 1);
  const select = (next: number) => {
    const position = Math.max(0, Math.min(list.length - 1, next));
    setSelected(position);
    document.getElementById(list[position]?.id ?? "")?.scrollIntoView({ block: "nearest" });
  };
  const listCommands = [
    { id: "next", title: "Next decision", group: "Decisions", keys: "j", run: () => select(index + 1), isKeyOnly: true },
    { id: "previous", title: "Previous decision", group: "Decisions", keys: "k", run: () => select(index - 1), isKeyOnly: true },
    { id: "open-decision", title: "Open the selected decision", group: "Decisions", keys: "Enter", run: () => list[index] && navigate(buildPath("decisions", list[index].id)), isKeyOnly: true },
    { id: "answer", title: "Go to the answers of the selected decision", group: "Decisions", keys: "r", run: () => focusAnswer(list[index]), isKeyOnly: true },
  ];
  useCommands([
    ...(show === "ended" ? [] : listCommands),
    { id: "ask-decision", title: "Ask for a decision", group: "Decisions", keys: "c", run: () => setAsking(true) },
    { id: "show-ended", title: "Show ended decisions", group: "Decisions", run: () => changeQuery({ show: "ended" }) },
  ]);
  return (
    <>
      <header class="view-head has-tabs">
        <h1>Decisions</h1>
        <nav class="tabs" aria-label="Which decisions">
          <Tab name="mine" current={show} label="For you" count={mine.length} />
          <Tab name="open" current={show} label="All open" count={waiting.length} />
          {(snoozed.length > 0 || show === "snoozed") && <Tab name="snoozed" current={show} label="Snoozed" count={snoozed.length} />}
          <Tab name="ended" current={show} label="Ended" />
        </nav>
        <span class="grow" />
        <button class="button" title="Ask for a decision (c)" onClick={() => setAsking(true)}>
          <Icon name="plus" size={14} /> <span class="hide-phone">Ask</span>
        </button>
      </header>
      <div class="view-body">
        {show === "ended" ? (
          <EndedDecisions />
        ) : isLoading ? (
          <Skeleton />
        ) : error !== undefined && list.length === 0 ? (
          <Failure error={error} />
        ) : list.length === 0 ? (
          <Empty icon="decision" title={show === "mine" ? "Nothing waits for your decision" : "No decision is open"}>
            <p>
              An agent asks with its tool <code>ask_decision</code>. You can ask, too.
            </p>
            <button class="button" onClick={() => setAsking(true)}>
              Ask for a decision
            </button>
            {show === "mine" && open.length > 0 && (
              <a class="button" href="/decisions?show=open">
                See what others are asked
              </a>
            )}
          </Empty>
        ) : (
          <div class="decision-list stack gap-3">
            {findAlike(list).map((group) => (
              <Alike key={group[0]?.id} group={group} />
            ))}
            {list.map((decision, position) => (
              <DecisionCard key={decision.id} decision={decision} isSelected={position === index} />
            ))}
          </div>
        )}
      </div>
      {isAsking && <AskDialog onClose={() => setAsking(false)} />}
    </>
  );
}

/** Decisions that one click answers. */
function Alike({ group }: { group: readonly Decision[] }) {
  const [first] = group;
  if (first === undefined) return null;
  // Other arguments and words are for each decision by itself.
  const options = first.options.filter(({ id }) => first.action === undefined || !["edit", "respond"].includes(id));
  return (
    <section class="card pad decision-alike line wrap gap-2" aria-label="Decisions that are alike">
      <span class="text grow">
        <strong>{`${group.length} alike`}</strong> from <Line text={displayName(first.asker)} />
        {first.action && <code class="text">{` ${toLine(first.action.name, 80)}`}</code>}
      </span>
      {options.map((option) => (
        <button key={option.id} class="button" onClick={() => sendAnswers(group, { option: option.id }, option.label)}>
          <Line text={`All: ${option.label}`} limit={60} />
        </button>
      ))}
    </section>
  );
}

function Tab({ name, current, label, count }: { name: string; current: string; label: string; count?: number }) {
  return (
    <a class="tab" href={name === "mine" ? "/decisions" : `/decisions?show=${name}`} aria-current={name === current ? "page" : undefined}>
      {label} {count !== undefined && <span class="number">{count}</span>}
    </a>
  );
}

function EndedDecisions() {
  const { value, error, reload } = useLoad(async (signal) => {
    const page = await client.listDecisions({ pending: false, newestFirst: true, limit: 500 }, { signal });
    return page.items;
  }, []);
  const { index } = useRowKeys("Decisions", value ?? [], (decision) => navigate(buildPath("decisions", decision.id)));
  if (error !== undefined) return <Failure error={error} onRetry={reload} />;
  if (value === undefined) return <Skeleton />;
  if (value.length === 0) return <Empty icon="decision" title="No decision has ended yet" />;
  return (
    <ul class="card row-list">
      <li class="list-head gate-head hide-phone" aria-hidden="true">
        <span />
        <span>Question</span>
        <span>Asked by</span>
        <span>Answer</span>
        <span>Answered by</span>
        <span>When</span>
      </li>
      {value.map((decision, position) => (
        <li key={decision.id}>
          <a class={`row gate-row ${position === index ? "is-selected" : ""}`} href={buildPath("decisions", decision.id)}>
            <Icon name={decision.status === "answered" ? "check" : "close"} />
            <Line text={decision.question} class="phone-1-2 strong" />
            <Line text={displayName(decision.asker)} class="phone-2-2 line muted" />
            <Line text={describeOutcome(decision)} class="gate-awaits" />
            <Line text={decision.answer?.by ? displayName(decision.answer.by) : decision.status} class="muted hide-phone" />
            <RelativeTime time={decision.answer?.at ?? decision.createdAt} />
          </a>
        </li>
      ))}
    </ul>
  );
}

function DecisionPage({ id }: { id: string }) {
  const live = decisions().value.decisions.find((decision) => decision.id === id);
  const { value, error, reload } = useLoad((signal) => client.showDecision({ id }, { signal }), [id]);
  useEffect(reload, [live === undefined, live?.contextHash]);
  const decision = live ?? value;
  useSubject(decision?.question);
  return (
    <>
      <header class="view-head">
        <a class="icon-button" href="/decisions" aria-label="All decisions">
          <Icon name="back" />
        </a>
        <h1>Decision</h1>
      </header>
      <div class="view-body">
        {decision !== undefined ? (
          <div class="decision-list stack gap-3">
            <DecisionCard decision={decision} />
            <dl class="facts">
              {canSeeGate(decision) && <dt>Gate</dt>}
              {canSeeGate(decision) && (
                <dd>
                  <a class="link" href={buildPath("gates", decision.gate)}>
                    {decision.status === "pending" ? `keeps ${toLine(displayName(decision.asker), 60)} until there is an answer` : "has ended"}
                  </a>
                </dd>
              )}
              <dt>Asked</dt>
              <dd>{formatExact(decision.createdAt)}</dd>
              {decision.deadline !== null && <dt>Deadline</dt>}
              {decision.deadline !== null && <dd>{formatExact(decision.deadline)}</dd>}
              {decision.iteration > 1 && <dt>Round</dt>}
              {decision.iteration > 1 && <dd>{decision.iteration}</dd>}
              {decision.ref && <dt>About</dt>}
              {decision.ref && <dd class="text">{toLine(`${decision.ref.type}:${decision.ref.id}`, 160)}</dd>}
            </dl>
          </div>
        ) : error !== undefined ? (
          <Failure error={error} onRetry={reload} />
        ) : (
          <Skeleton />
        )}
      </div>
    </>
  );
}

/** Whether the person may see the gate of a decision: it concerns who asks, not who is asked. */
function canSeeGate(decision: Decision): boolean {
  return isAdministrator.value || decision.asker === me.value || findEntity(decision.asker)?.owner === me.value;
}

function focusAnswer(decision: Decision | undefined): void {
  document.getElementById(decision?.id ?? "")?.querySelector<HTMLElement>(".decision-answers .button, .answer-form .field")?.focus();
}

function compare(a: Decision, b: Decision): number {
  return a.urgency - b.urgency || (a.deadline ?? "9").localeCompare(b.deadline ?? "9") || a.createdAt.localeCompare(b.createdAt);
}
