/** A question of an agent in a conversation: its options as buttons, and how it ended. */

import "../decisions/decisions.css";

import type { Decision, SharedEntry } from "@gatepost/client";

import { useCommands } from "../commands.js";
import { DecisionCard } from "../decisions/card.js";
import { sendAnswer } from "../decisions/answers.js";
import { decisions } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { Icon } from "../ui/icons.js";
import { Markdown } from "../ui/markdown.js";
import { describeError, toLine } from "../ui/text.js";
import { RelativeTime } from "../ui/time.js";

/** Options that have a key. */
const MAX_KEYS = 9;

export function Question({ entry, hasKeys }: { entry: SharedEntry; hasKeys: boolean }) {
  if (entry.status === "pending") return <OpenQuestion entry={entry} hasKeys={hasKeys} />;
  return (
    <div class="card question stack gap-2 pad">
      <Markdown text={entry.content} class="question-text" />
      <Ending entry={entry} />
    </div>
  );
}

function OpenQuestion({ entry, hasKeys }: { entry: SharedEntry; hasKeys: boolean }) {
  const id = entry.decision ?? "";
  const live = decisions().value.decisions.find((decision) => decision.id === id);
  const { value, error } = useLoad((signal) => client.showDecision({ id }, { signal }), [id, live === undefined]);
  const decision = live ?? value;
  if (decision === undefined) return <p class="muted question-wait">{error === undefined ? "Loading the question …" : describeError(error)}</p>;
  return (
    <div class="question is-open">
      <DecisionCard decision={decision}>
        {decision.freeText && decision.action === undefined && <p class="question-foot muted">What you write below answers it, too.</p>}
      </DecisionCard>
      {hasKeys && <AnswerKeys decision={decision} />}
    </div>
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
          <RelativeTime hasAgo time={entry.answeredAt} />
        </span>
      )}
    </p>
  );
}
