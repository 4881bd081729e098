/** Answer a decision, and say what became of it. */

import type { AnswerDecision, Decision } from "@gatepost/client";

import { decisionsStore, displayName } from "../data/live.js";
import { me } from "../data/session.js";
import { attempt, showToast } from "../ui/toasts.js";
import { toLine } from "../ui/text.js";

export type Answer = Omit<AnswerDecision, "id" | "contextHash" | "by">;

/** Answer as the person, if the person was asked, else as the administrator. */
export async function sendAnswer(decision: Decision, answer: Answer): Promise<boolean> {
  const by = decision.asked.includes(me.value) ? me.value : undefined;
  const isDone = await attempt(() => decisionsStore.answer(decision.id, { ...answer, contextHash: decision.contextHash, by }));
  if (isDone) showToast(`Answered ${toLine(displayName(decision.asker), 60)}: ${describeAnswer(decision, answer)}`);
  return isDone;
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
