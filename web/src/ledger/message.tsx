/** One message of a topic, with all that its running hash covers. */

import { parseJson, type Entity, type Fault, type TopicMessage } from "@gatepost/client";

import { displayName } from "../data/live.js";
import { buildPath } from "../router.js";
import { PlainText } from "../ui/markdown.js";
import { Avatar, Line } from "../ui/parts.js";
import { formatJson } from "../ui/text.js";
import { formatExact } from "../ui/time.js";
import { formatConsensus, readContent } from "./describe.js";

interface DetailProps {
  message: TopicMessage;
  fault: Fault | undefined;
  /** Whose account has paid. */
  sender: string | undefined;
  kind: Entity["kind"] | undefined;
}

export function MessageDetail({ message, fault, sender, kind }: DetailProps) {
  const { time, nanoseconds } = formatConsensus(message.consensusTimestamp);
  const content = readContent(message);
  return (
    <div class="message-body stack gap-3">
      {fault !== undefined && (
        <p class="notice danger" role="alert">
          Message {fault.sequenceNumber} is wrong: {fault.reason}
        </p>
      )}
      {message.refused !== null && <p class="notice text">It does not count: {message.refused}</p>}
      <dl class="facts">
        <dt>Sender</dt>
        <dd>
          {sender === undefined ? (
            <span class="muted">unknown here</span>
          ) : (
            <a class="link message-sender" href={buildPath("ledger", "profiles", sender)}>
              <Avatar name={displayName(sender)} kind={kind ?? null} isSmall /> <Line text={displayName(sender)} limit={60} />
            </a>
          )}
        </dd>
        <dt>Payer</dt>
        <dd>
          <code>{message.payerAccountId}</code>
        </dd>
        <dt>Consensus time</dt>
        <dd>
          {formatExact(time)}
          <span class="muted">.{nanoseconds}</span>
        </dd>
        {message.chunk !== null && <dt>Chunk</dt>}
        {message.chunk !== null && (
          <dd class="text">
            {message.chunk.number} of {message.chunk.total} <span class="muted">{message.chunk.transactionId.slice(0, 100)}</span>
          </dd>
        )}
        {content.file !== undefined && <dt>File</dt>}
        {content.file !== undefined && (
          <dd>
            <a class="link" href={buildPath("ledger", content.file)}>
              the file {content.file}
            </a>
          </dd>
        )}
        <dt>Running hash</dt>
        <dd>
          <code class={`text ${fault === undefined ? "" : "danger-text"}`}>{message.runningHash}</code>
        </dd>
      </dl>
      <h3>Content</h3>
      <PlainText text={message.text === null ? message.message : formatContent(message.text)} />
    </div>
  );
}

/** Return JSON in lines, with the JSON that it has as text inside. */
function formatContent(text: string): string {
  try {
    const value = parseJson(text);
    if (typeof value === "object" && value !== null && "data" in value && typeof value.data === "string" && value.data.startsWith("{")) {
      return formatJson({ ...value, data: parseJson(value.data) });
    }
  } catch {
    return text;
  }
  return formatJson(text);
}
