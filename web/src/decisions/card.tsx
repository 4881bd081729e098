/** A decision: the question, what it is about, and every way to answer it. */

import type { Decision, Option } from "@gatepost/client";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { queuedDecisions } from "../data/answer-queue.js";
import { readDraft, useDraft, writeDraft } from "../data/drafts.js";
import { displayName, findEntity } from "../data/live.js";
import { me } from "../data/session.js";
import { buildPath } from "../router.js";
import { DataView } from "../ui/fields.js";
import { focusOnMount } from "../ui/focus.js";
import { Icon } from "../ui/icons.js";
import { Markdown } from "../ui/markdown.js";
import { Name } from "../ui/name.js";
import { Avatar, Line, Priority } from "../ui/parts.js";
import { toLine } from "../ui/text.js";
import { Countdown, RelativeTime } from "../ui/time.js";
import { describeOutcome, sendAnswer, type Answer } from "./answers.js";
import { ArgumentsForm } from "./arguments-form.js";
import { DelegateButton } from "./delegate-button.js";
import { FormButtons, handleKey, type FormProps } from "./form-parts.js";
import { SnoozeButton } from "./snooze-button.js";

interface CardProps {
  decision: Decision;
  isSelected?: boolean;
  /** What the place where it is shown adds. */
  children?: ComponentChildren;
}

export function DecisionCard({ decision, isSelected = false, children }: CardProps) {
  const isOpen = decision.status === "pending";
  const lastAnswer = decision.answers.at(-1);
  return (
    <article class={`card decision ${isSelected ? "is-selected" : ""}`} id={decision.id} aria-label={`Decision: ${toLine(decision.question, 80)}`}>
      <header class="decision-head view-bar sm line gap-2">
        <Avatar name={displayName(decision.asker)} kind={findEntity(decision.asker)?.kind ?? "agent"} isSmall />
        <a class="strong line-text" href={buildPath("agents", decision.asker)}>
          <Name name={decision.asker} />
        </a>
        <span class="muted line gap-1 hide-phone">
          asks <Line text={decision.asked.map(displayName).join(", ")} />
        </span>
        <span class="grow" />
        {decision.urgency < 2 && <Priority level={decision.urgency} />}
        {isOpen && decision.deadline !== null && <Countdown time={decision.deadline} />}
        <a class="muted" href={buildPath("decisions", decision.id)}>
          <RelativeTime hasAgo time={decision.createdAt} />
        </a>
      </header>
      <div class="stack gap-3 pad">
        <Markdown text={decision.question} class="decision-question" />
        {decision.iteration > 1 && decision.guidance !== null && <Markdown text={`Sent back: ${decision.guidance}`} class="muted" />}
        {isOpen && lastAnswer?.outcome === "delegated" && <Markdown text={`${lastAnswer.by === null ? "Passed on" : `${displayName(lastAnswer.by)} passed it on`} ${lastAnswer.text ?? ""}`} class="muted" />}
        {decision.action !== undefined && <ActionView decision={decision} />}
        {decision.context !== null && decision.context !== "" && (
          <details class="fold" open={decision.context.length < 800}>
            <summary>Background</summary>
            <Markdown text={decision.context} />
          </details>
        )}
        {isOpen ? <AnswerForm key={decision.iteration} decision={decision} /> : <Outcome decision={decision} />}
        {children}
      </div>
    </article>
  );
}

function ActionView({ decision }: { decision: Decision }) {
  const { action } = decision;
  if (action === undefined) return null;
  return (
    <div class="stack gap-2">
      <span class="line sm soft">
        <Icon name="tool" size={14} /> wants to run <code class="text">{toLine(action.name, 80)}</code>
      </span>
      {Object.keys(action.args).length > 0 && <DataView value={action.args} limit={1200} />}
    </div>
  );
}

/** How often a question is asked at the most. */
const MAX_ROUNDS = 3;

type Mode = "options" | "text" | "edit" | "again";
const FORMS: readonly Mode[] = ["text", "edit", "again"];

function AnswerForm({ decision }: { decision: Decision }) {
  const draft = (form: Mode) => `decision:${decision.id}:${decision.iteration}:${form}`;
  // A form that something was written into before a reload is open again, but does not take the keys of the list.
  const [mode, setMode] = useState<Mode>(() => FORMS.find((form) => readDraft(draft(form)) !== undefined) ?? "options");
  const [isWanted, setWanted] = useState(false);
  const openForm = (form: Mode) => {
    setWanted(true);
    setMode(form);
  };
  const buttons = useRef<HTMLDivElement>(null);
  /** The form that was left, whose button gets the focus. */
  const leftForm = useRef<Mode | undefined>(undefined);
  const leaveForm = () => {
    leftForm.current = mode;
    setMode("options");
  };
  useLayoutEffect(() => {
    if (mode !== "options" || leftForm.current === undefined) return;
    buttons.current?.querySelector<HTMLElement>(`[data-form=${leftForm.current}]`)?.focus();
    leftForm.current = undefined;
  }, [mode]);
  /** It was answered here, and the answer is on its way. */
  const isBusy = queuedDecisions.value.has(decision.id);
  const answer = (value: Answer) => {
    sendAnswer(decision, value);
    FORMS.forEach((form) => writeDraft(draft(form), undefined));
    setMode("options");
  };
  const isDue = decision.deadline !== null;
  const fallback = decision.options.find((option) => option.id === decision.default);
  const choose = (option: Option) => {
    if (decision.action !== undefined && option.id === "edit") openForm("edit");
    else if (decision.action !== undefined && option.id === "respond") openForm("text");
    else answer({ option: option.id });
  };
  if (mode === "edit") {
    return <ArgumentsForm decision={decision} draft={draft(mode)} isWanted={isWanted} isBusy={isBusy} onCancel={leaveForm} onSend={(args) => answer({ option: "edit", args })} />;
  }
  if (mode === "text" || mode === "again") {
    const label = mode === "again" ? "What should be asked differently?" : "Your answer";
    const send = (text: string) => answer(mode === "again" ? { again: true, text } : decision.action === undefined ? { text } : { option: "respond", text });
    return <TextForm key={mode} label={label} draft={draft(mode)} isWanted={isWanted} isBusy={isBusy} onCancel={leaveForm} onSend={send} />;
  }
  return (
    <div ref={buttons} class="decision-answers line wrap gap-2">
      {decision.options.map((option, index) => (
        <button
          key={option.id}
          class={`button ${index === 0 ? "primary" : ""}`}
          disabled={isBusy}
          title={option.description ?? undefined}
          data-form={decision.action === undefined ? undefined : { edit: "edit", respond: "text" }[option.id]}
          onClick={() => choose(option)}
        >
          <Line text={option.label} limit={80} />
        </button>
      ))}
      {decision.freeText && decision.action === undefined && (
        <button class="button" disabled={isBusy} data-form="text" onClick={() => openForm("text")}>
          Write an answer
        </button>
      )}
      <span class="grow" />
      <span class="line gap-2">
        {decision.freeText && decision.iteration < MAX_ROUNDS && (
          <button class="button quiet" title="Say what is missing; it asks again" disabled={isBusy} data-form="again" onClick={() => openForm("again")}>
            Send back
          </button>
        )}
        {!decision.options.some((option) => decision.action !== undefined && option.id === "ignore") && (
          <button class="button quiet" title="None of these" disabled={isBusy} onClick={() => answer({ reject: true })}>
            Refuse
          </button>
        )}
        {decision.iteration < MAX_ROUNDS && <DelegateButton decision={decision} isBusy={isBusy} />}
        {decision.asked.includes(me.value) && <SnoozeButton decision={decision} isBusy={isBusy} />}
      </span>
      {isBusy && (
        <p class="decision-default muted" role="status">
          Your answer is sent in a moment.
        </p>
      )}
      {isDue && (
        <p class="decision-default line muted">
          <Icon name="clock" size={13} /> {fallback === undefined ? "Without an answer in time it ends unanswered." : <>Without an answer in time: <Line text={fallback.label} limit={80} /></>}
        </p>
      )}
    </div>
  );
}

function TextForm({ label, draft, isWanted, isBusy, onSend, onCancel }: FormProps<string> & { label: string }) {
  const [text, setText] = useDraft(draft);
  return (
    <form
      class="answer-form stack gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "") onSend(text);
      }}
    >
      <label class="label">
        {label}
        <textarea class="field" rows={3} value={text} onInput={(event) => setText(event.currentTarget.value)} onKeyDown={(event) => handleKey(event, onCancel)} ref={isWanted ? focusOnMount : undefined} />
      </label>
      <FormButtons isBusy={isBusy || text.trim() === ""} onCancel={onCancel} />
    </form>
  );
}

function Outcome({ decision }: { decision: Decision }) {
  if (decision.answers.length === 0) return <p class="muted">{decision.status === "revising" ? "It is being revised." : `It is ${decision.status}.`}</p>;
  return (
    <ol class="answer-list stack sm">
      {decision.answers.map((answer) => {
        const isLast = answer.iteration === decision.answers.at(-1)?.iteration;
        return (
          <li key={answer.iteration} class="answer-row line top gap-2">
            <Icon name={["answered", "defaulted"].includes(answer.outcome) ? "check" : "close"} size={14} />
            <span class="text grow">
              <strong>{answer.by === null ? "The deadline" : toLine(displayName(answer.by), 60)}</strong> {answer.outcome}
              {isLast ? `: ${toLine(describeOutcome(decision), 400)}` : answer.text ? `: ${toLine(answer.text, 400)}` : ""}
            </span>
            <span class="muted">
              <RelativeTime hasAgo time={answer.at} />
            </span>
          </li>
        );
      })}
    </ol>
  );
}
