/** Answer a decision, and say what became of it. */

import type { AnswerDecision, Decision } from "@gatepost/client";

import { UNDO_TIME, queueAnswer, queuedDecisions, startAnswerQueue, type QueuedAnswer } from "../data/answer-queue.js";
import { writeDraft } from "../data/drafts.js";
import { decisionsStore, displayName } from "../data/live.js";
import { me, noticeFailure } from "../data/session.js";
import { showToast } from "../ui/toasts.js";
import { describeError, plural, toLine } from "../ui/text.js";

export type Answer = Omit<AnswerDecision, "id" | "contextHash" | "by">;

/** Send answers when they cannot be taken back any more; what the person wrote is there again if one is refused. */
export function startAnswers(): void {
  startAnswerQueue(
    ({ key, request }) => decisionsStore.answer(request.id, request, { idempotencyKey: key }),
    ({ request }: QueuedAnswer, error) => {
      noticeFailure(error);
      showToast(describeError(error), { isError: true });
      const round = decisionsStore.state.decisions.find(({ id }) => id === request.id)?.iteration;
      if (request.text && round !== undefined) writeDraft(`decision:${request.id}:${round}:${request.again ? "again" : "text"}`, request.text);
    },
  );
}

/** Answer as the person, if the person was asked, else as the administrator. */
export function sendAnswer(decision: Decision, answer: Answer): void {
  if (queuedDecisions.value.has(decision.id)) return;
  const takeBack = queue(decision, answer);
  const text = `Answered ${toLine(displayName(decision.asker), 60)}: ${describeAnswer(decision, answer)}`;
  showToast(text, { undo: () => takeBack() || showToast("It is too late: the answer was sent", { isError: true }), time: UNDO_TIME });
}

/** Answer decisions that are alike with the same option, each with the hash of what was shown of it. */
export function sendAnswers(decisions: readonly Decision[], answer: Answer, label: string): void {
  const takesBack = decisions.map((decision) => queue(decision, answer));
  showToast(`Answered ${plural(decisions.length, "decision")}: ${toLine(label, 60)}`, {
    undo: () => takesBack.map((takeBack) => takeBack()).every(Boolean) || showToast("It is too late: they were sent", { isError: true }),
    time: UNDO_TIME,
  });
}

function queue(decision: Decision, answer: Answer): () => boolean {
  const by = decision.asked.includes(me.value) ? me.value : undefined;
  return queueAnswer({ ...answer, id: decision.id, contextHash: decision.contextHash, ...(by === undefined ? {} : { by }) });
}

function describeAnswer(decision: Decision, answer: Answer): string {
  if (answer.again) return "sent back";
  if (answer.reject) return "refused";
  const option = decision.options.find(({ id }) => id === answer.option);
  return toLine(option?.label ?? answer.text ?? "", 60);
}

/** Return the end of a decision in words. */
export function describeOutcome(decision: Decision): string {
  const { answer } = decision;
  if (answer === null) return decision.status;
  const option = decision.options.find(({ id }) => id === answer.option);
  const words = [option?.label ?? answer.option, answer.text].filter(Boolean).join(": ");
  return words === "" ? answer.outcome : words;
}

/** Return decisions that can be answered with one click: of one asker, with the same options, about the same action. */
export function findAlike(decisions: readonly Decision[]): Decision[][] {
  const groups = new Map<string, Decision[]>();
  for (const decision of decisions.filter(({ status }) => status === "pending")) {
    const key = JSON.stringify([decision.asker, decision.action?.name, decision.options.map(({ id, label }) => [id, label])]);
    groups.set(key, [...(groups.get(key) ?? []), decision]);
  }
  return [...groups.values()].filter((group) => group.length > 1 && (group[0]?.options.length ?? 0) > 0);
}
