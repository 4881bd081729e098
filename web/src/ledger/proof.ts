/**
 * Proofs of topics. The gateway checks a topic page by page: it computes the running hash of each message again, from the
 * message and the hash before it. So the checks of one visit are kept here, and both the list and the topic show them.
 */

import type { Fault } from "@gatepost/client";
import { signal } from "@preact/signals";

import { client, noticeFailure } from "../data/session.js";
import { describeError } from "../ui/text.js";

/** Messages that are checked at once, so that a long topic shows how far it is. */
const PAGE_LENGTH = 1000;
/** Messages that are named as wrong; the others are counted. */
const MAX_FAULTS = 50;

export interface TopicProof {
  status: "running" | "proved" | "wrong" | "failed";
  /** Messages that were looked at, and the number of the last one. */
  checked: number;
  last: number;
  proved: number;
  unknown: number;
  wrong: number;
  /** The messages that are wrong, or are missing, in their order. */
  faults: readonly Fault[];
  at: number;
  /** Why it could not be checked. */
  error?: string;
}

const proofs = signal<ReadonlyMap<string, TopicProof>>(new Map());

export function findProof(topic: string): TopicProof | undefined {
  return proofs.value.get(topic);
}

export type Verdict = "proved" | "wrong" | "unknown";

/** Return what is known of a message; undefined if it was not checked. */
export function judgeMessage(proof: TopicProof | undefined, sequence: number): Verdict | undefined {
  if (proof === undefined || sequence > proof.last) return undefined;
  if (proof.faults.some((fault) => fault.sequenceNumber === sequence)) return "wrong";
  if (proof.unknown > 0 && sequence === proof.last - proof.checked + 1) return "unknown";
  return "proved";
}

/** Check a topic from its first message on. */
export async function verifyTopic(topic: string): Promise<TopicProof> {
  let proof: TopicProof = { status: "running", checked: 0, last: 0, proved: 0, unknown: 0, wrong: 0, faults: [], at: Date.now() };
  save(topic, proof);
  try {
    for (let after: number | null = 0; after !== null; ) {
      const page: Awaited<ReturnType<typeof client.verifyTopic>> = await client.verifyTopic({ id: topic, after, limit: PAGE_LENGTH });
      const faults = [...proof.faults, ...(await listFaults(topic, page.firstFault, page.wrong, page.next, MAX_FAULTS - proof.faults.length))];
      proof = {
        ...proof,
        checked: proof.checked + page.messages,
        last: Math.max(page.next ?? after + page.messages, ...faults.map((fault) => fault.sequenceNumber)),
        proved: proof.proved + page.proved,
        unknown: proof.unknown + page.unknown,
        wrong: proof.wrong + page.wrong,
        faults,
      };
      after = page.next;
      save(topic, proof);
    }
    proof = { ...proof, status: proof.faults.length > 0 ? "wrong" : "proved", at: Date.now() };
  } catch (error) {
    noticeFailure(error);
    proof = { ...proof, status: "failed", at: Date.now(), error: describeError(error) };
  }
  save(topic, proof);
  return proof;
}

/** Return the messages of a page that are wrong: the gateway names the first one after a number. */
async function listFaults(topic: string, first: Fault | null, wrong: number, end: number | null, limit: number): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (let fault = first; fault !== null && faults.length < limit; ) {
    if (end !== null && fault.sequenceNumber > end) break;
    faults.push(fault);
    if (faults.length >= wrong && end !== null) break; // at the end, messages may be missing too
    fault = (await client.verifyTopic({ id: topic, after: fault.sequenceNumber, limit: PAGE_LENGTH })).firstFault;
  }
  return faults;
}

function save(topic: string, proof: TopicProof): void {
  proofs.value = new Map(proofs.value).set(topic, proof);
}
