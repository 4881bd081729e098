/** A question of an agent in a conversation: its options as buttons, and how it ended. */

import "../decisions/decisions.css";

import type { Decision, SharedEntry } from "@gatepost/client";

import { useCommands } from "../commands.js";
import { AnswerForm } from "../decisions/card.js";
import { sendAnswer } from "../decisions/answers.js";
import { decisions } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { buildPath } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Markdown } from "../ui/markdown.js";
import { describeError, toLine } from "../ui/text.js";
import { Countdown, RelativeTime } from "../ui/time.js";

/** Options that have a key. */
const MAX_KEYS = 9;

export function Question({ entry, hasKeys }: { entry: SharedEntry; hasKeys: boolean }) {
  return (
    <div class={`card question stack gap-2 pad ${entry.status === "pending" ? "is-open" : ""}`}>
      <Markdown text={entry.content} class="question-text" />
      {entry.status === "pending" ? <OpenQuestion entry={entry} hasKeys={hasKeys} /> : <Ending entry={entry} />}
    </div>
  );
}

function OpenQuestion({ entry, hasKeys }: { entry: SharedEntry; hasKeys: boolean }) {
  const id = entry.decision ?? "";
  const live = decisions().value.decisions.find((decision) => decision.id === id);
  const { value, error } = useLoad((signal) => client.showDecision({ id }, { signal }), [id, live === undefined]);
  const decision = live ?? value;
  if (decision === undefined) return <p class="muted question-wait">{error === undefined ? "Loading the answers …" : describeError(error)}</p>;
  return (
    <>
      {decision.context !== null && decision.context !== "" && (
        <details class="fold">
          <summary>Background</summary>
          <Markdown text={decision.context} />
        </details>
      )}
      <AnswerForm key={decision.iteration} decision={decision} />
      <p class="question-foot line wrap muted">
        {decision.deadline !== null && <Countdown time={decision.deadline} />}
        {decision.freeText && decision.action === undefined && <span>What you write below answers it, too.</span>}
        <a class="link" href={buildPath("decisions", id)}>
          Open the decision
        </a>
      </p>
      {hasKeys && <AnswerKeys decision={decision} />}
    </>
  );
}

/** The options as commands. */
function AnswerKeys({ decision }: { decision: Decision }) {
  const options = decision.action === undefined ? decision.options.slice(0, MAX_KEYS) : [];
  useCommands(
    options.map((option, index) => ({
      id: `answer-${decision.id}-${option.id}`,
      title: `Answer: ${toLine(option.label, 60)}`,
      group: "Chat",
      keys: String(index + 1),
      run: () => sendAnswer(decision, { option: option.id }),
    })),
  );
  return null;
}

function Ending({ entry }: { entry: SharedEntry }) {
  const isAnswered = entry.status === "answered";
  return (
    <p class="question-end sm">
      <Icon name={isAnswered ? "check" : "close"} size={14} />
      <span class="text">{entry.answer === null ? (isAnswered ? "Answered" : "Ended without an answer") : toLine(entry.answer, 600)}</span>
      {entry.answeredAt !== null && (
        <span class="muted">
          <RelativeTime time={entry.answeredAt} />
        </span>
      )}
    </p>
  );
}
