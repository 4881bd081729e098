/** The result of a verification: how many messages are proved, one mark for each, and which one is wrong, and why. */

import type { Topic } from "@gatepost/client";

import { Icon } from "../ui/icons.js";
import { Dots } from "../ui/parts.js";
import { plural } from "../ui/text.js";
import { RelativeTime } from "../ui/time.js";
import { judgeMessage, type TopicProof, type Verdict } from "./proof.js";

/** Marks of the chain; a longer topic has several messages in one. */
const MAX_MARKS = 240;
const SHOWN_FAULTS = 5;

interface PanelProps {
  topic: Topic;
  proof: TopicProof | undefined;
  linkMessage: (sequence: number) => string;
}

export function ProofPanel({ topic, proof, linkMessage }: PanelProps) {
  if (topic.messages === 0) return null;
  const tone = proof === undefined || proof.status === "running" ? "" : proof.status === "proved" ? "is-proved" : "is-wrong";
  return (
    <section class={`proof sm ${tone}`} aria-label="Proof" aria-live="polite">
      <ProofIcon proof={proof} />
      <div class="proof-text">
        <p class="proof-result strong" role={proof?.status === "wrong" ? "alert" : undefined}>
          {describeResult(topic, proof)}
        </p>
        <p class="muted">
          {describeMeaning(proof)}
          {proof !== undefined && proof.status !== "running" && (
            <>
              {" "}
              Checked <RelativeTime hasAgo time={new Date(proof.at).toISOString()} />
              {formatAgo(proof.at)}
            </>
          )}
        </p>
        {proof?.status === "wrong" && <Faults proof={proof} linkMessage={linkMessage} />}
      </div>
      <Chain topic={topic} proof={proof} linkMessage={linkMessage} />
    </section>
  );
}

function ProofIcon({ proof }: { proof: TopicProof | undefined }) {
  const isBad = proof?.status === "wrong" || proof?.status === "failed";
  return (
    <span class="proof-icon" aria-hidden="true">
      {proof?.status === "running" ? <Dots /> : <Icon name={isBad ? "alert" : "shield"} size={20} />}
    </span>
  );
}

function Faults({ proof, linkMessage }: { proof: TopicProof; linkMessage: (sequence: number) => string }) {
  return (
    <ul class="proof-faults stack">
      {proof.faults.slice(0, SHOWN_FAULTS).map((fault) => (
        <li key={fault.sequenceNumber}>
          <a class="link" href={linkMessage(fault.sequenceNumber)}>
            Show message {fault.sequenceNumber}
          </a>
          {proof.faults.length > 1 && <span class="muted"> {fault.reason}</span>}
        </li>
      ))}
      {proof.faults.length > SHOWN_FAULTS && <li class="muted">and {plural(proof.wrong - SHOWN_FAULTS, "other message")}</li>}
    </ul>
  );
}

/** One mark for each message, in its order: what is proved, what is wrong, and what was not looked at yet. */
function Chain({ topic, proof, linkMessage }: PanelProps) {
  const size = Math.max(1, Math.ceil(topic.messages / MAX_MARKS));
  const count = Math.ceil(topic.messages / size);
  return (
    <div class="chain" aria-hidden="true">
      {Array.from({ length: count }, (_, index) => {
        const first = index * size + 1;
        const end = Math.min(topic.messages, first + size - 1);
        const fault = proof?.faults.find((other) => other.sequenceNumber >= first && other.sequenceNumber <= end);
        const verdict = fault === undefined ? judgeMessage(proof, end) : "wrong";
        return <a key={first} class={`link-mark is-${verdict ?? "unchecked"}`} href={linkMessage(fault?.sequenceNumber ?? first)} tabIndex={-1} title={first === end ? `Message ${first}` : `Messages ${first} to ${end}`} />;
      })}
    </div>
  );
}

const VERDICTS: Record<Verdict, string> = { proved: "proved", wrong: "wrong", unknown: "cannot be checked" };

export function VerdictMark({ verdict, isWide = false }: { verdict: Verdict | undefined; isWide?: boolean }) {
  if (verdict === undefined) return isWide ? null : <span class="verdict" role="img" aria-label="not checked" title="not checked" />;
  if (isWide) return <span class={`badge ${verdict === "proved" ? "accent" : verdict === "wrong" ? "danger" : "warn"}`}>{VERDICTS[verdict]}</span>;
  return (
    <span class={`verdict is-${verdict}`} role="img" aria-label={VERDICTS[verdict]} title={VERDICTS[verdict]}>
      <Icon name={verdict === "proved" ? "check" : verdict === "wrong" ? "close" : "more"} size={13} />
    </span>
  );
}

function describeResult(topic: Topic, proof: TopicProof | undefined): string {
  if (proof === undefined) return `${plural(topic.messages, "message")}, not checked yet`;
  const of = `${proof.proved.toLocaleString("en")} of ${plural(Math.max(proof.checked, topic.messages), "message")} proved`;
  switch (proof.status) {
    case "running":
      return `${proof.checked.toLocaleString("en")} of ${plural(topic.messages, "message")} checked`;
    case "proved":
      return of;
    case "wrong":
      return `Message ${proof.faults[0]?.sequenceNumber} is wrong: ${proof.faults[0]?.reason}. ${of}.`;
    case "failed":
      return `The topic could not be checked: ${proof.error}`;
  }
}

function describeMeaning(proof: TopicProof | undefined): string {
  if (proof === undefined) return "Verify computes the running hash of each message again, from the message and the hash before it.";
  switch (proof.status) {
    case "running":
      return "Each running hash is computed again.";
    case "proved":
      return proof.unknown === 0 ? "No message was changed, left out or moved since it was recorded." : `${plural(proof.unknown, "message")} has nothing before it to be checked by. No other message was changed, left out or moved.`;
    case "wrong":
      return "The store does not have what was recorded: somebody changed, removed or moved a message.";
    case "failed":
      return "Nothing is known of its messages.";
  }
}

function formatAgo(at: number): string {
  return Date.now() - at < 45_000 || Date.now() - at > 14 * 86_400_000 ? "." : " ago.";
}
