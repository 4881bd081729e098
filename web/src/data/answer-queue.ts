/**
 * Answers to decisions that were given here and can still be taken back. An answer lies in the tab for a few seconds and
 * is then sent; it is sent at once when the page is left, and after a reload if it was not. Its idempotency key makes it
 * one answer, however often it is sent.
 */

import { createKey, GatepostError, parseJson, writeJson, type AnswerDecision, type Decision } from "@gatepost/client";
import { computed, signal } from "@preact/signals";

import { readDraft, writeDraft } from "./drafts.js";
import { beforeSignOut, sendAtLeave } from "./session.js";

/** Milliseconds in which an answer can be taken back. */
export const UNDO_TIME = 5_000;
/** Milliseconds until the gateway is asked again that did not answer. */
const RETRY_TIME = 5_000;
const DRAFT = "answers";

export interface QueuedAnswer {
  key: string;
  request: AnswerDecision;
}

type Send = (answer: QueuedAnswer) => Promise<Decision>;
type OnFailure = (answer: QueuedAnswer, error: unknown) => void;

const queue = signal<readonly QueuedAnswer[]>([]);
/** The ids of decisions whose answers have not arrived yet. */
export const queuedDecisions = computed(() => new Set(queue.value.map(({ request }) => request.id)));
const timers = new Map<string, ReturnType<typeof setTimeout>>();
let sendAnswer: Send | undefined;
let reportFailure: OnFailure = () => undefined;

/** Send what an earlier page has left over, and what is queued from now on. */
export function startAnswerQueue(send: Send, onFailure: OnFailure): void {
  sendAnswer = send;
  reportFailure = onFailure;
  const kept = readDraft(DRAFT);
  if (kept !== undefined) {
    queue.value = parseJson(kept) as QueuedAnswer[];
    for (const answer of queue.value) void sendNow(answer);
  }
  addEventListener("pagehide", sendAllAtOnce);
  beforeSignOut(flushAnswers);
}

/** Queue an answer; return the function that takes it back, which returns whether it was in time. */
export function queueAnswer(request: AnswerDecision): () => boolean {
  const answer = { key: createKey(), request };
  change([...queue.value, answer]);
  timers.set(
    answer.key,
    setTimeout(() => void sendNow(answer), UNDO_TIME),
  );
  return () => {
    const timer = timers.get(answer.key);
    if (timer === undefined) return false;
    clearTimeout(timer);
    forget(answer);
    return true;
  };
}

/** Send all that is queued, and wait until it has arrived. */
export async function flushAnswers(): Promise<void> {
  await Promise.all(queue.value.map((answer) => sendNow(answer)));
}

async function sendNow(answer: QueuedAnswer): Promise<void> {
  clearTimeout(timers.get(answer.key));
  timers.delete(answer.key);
  if (!queue.value.includes(answer)) return;
  try {
    await sendAnswer?.(answer);
  } catch (error) {
    if (error instanceof GatepostError && error.status === 0) {
      setTimeout(() => void sendNow(answer), RETRY_TIME);
      return;
    }
    reportFailure(answer, error);
  }
  forget(answer);
}

/** A page that is left can wait for no answer. What is kept is sent again by the next one, which changes nothing. */
function sendAllAtOnce(): void {
  for (const { key, request } of queue.value) {
    const { id, ...body } = request;
    sendAtLeave("PUT", `/api/decisions/${encodeURIComponent(id)}/answer`, writeJson(body) ?? "{}", key);
  }
}

function forget(answer: QueuedAnswer): void {
  timers.delete(answer.key);
  change(queue.value.filter((other) => other !== answer));
}

function change(next: readonly QueuedAnswer[]): void {
  queue.value = next;
  writeDraft(DRAFT, next.length === 0 ? undefined : writeJson(next));
}
