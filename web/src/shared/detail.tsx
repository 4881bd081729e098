/** An entry of the shared inbox: who wrote it, to whom it went, what was answered, and when. */

import type { SharedEntry } from "@gatepost/client";

import { listTargets } from "../chat/entry.js";
import { isOwn } from "../chat/session-id.js";
import { displayName, findEntity } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { DecisionCard } from "../decisions/card.js";
import { buildPath } from "../router.js";
import { useSubject } from "../title.js";
import { Icon } from "../ui/icons.js";
import { Markdown } from "../ui/markdown.js";
import { Avatar, Failure, Line, Skeleton } from "../ui/parts.js";
import { toLine } from "../ui/text.js";
import { formatDuration, formatExact, RelativeTime } from "../ui/time.js";
import { canOpen } from "../views.js";
import { describeChannel, describeStatus, describeWriter, KINDS } from "./describe.js";

/** Metadata that is shown in words of its own. */
const KNOWN = ["targets", "event_id", "decision_id"];

interface PaneProps {
  id: string;
  listed: SharedEntry | undefined;
  onClose: () => void;
}

/** An entry of the list, or one that is only in the address. */
export function EntryPane({ id, listed, onClose }: PaneProps) {
  const { value, error } = useLoad(async (signal) => listed ?? (await client.showSharedEntry({ id }, { signal })), [id, listed === undefined]);
  const entry = listed ?? value;
  useSubject(entry && `${describeWriter(entry)}: ${entry.content}`);
  return (
    <section class="inbox-detail shared-detail" aria-label="Entry">
      <header class="view-head">
        <button class="icon-button" aria-label="Back to the list" title="Back to the list (Escape)" onClick={onClose}>
          <Icon name="back" />
        </button>
        <h1 class="visually-hidden">Entry of the shared inbox</h1>
        <span class="grow" />
        {entry && <ConversationLinks entry={entry} />}
      </header>
      {entry !== undefined ? <EntryDetail entry={entry} /> : error !== undefined ? <Failure error={error} /> : <Skeleton />}
    </section>
  );
}

function ConversationLinks({ entry }: { entry: SharedEntry }) {
  return (
    <>
      <a class="button" href={`/shared?${new URLSearchParams({ channel: entry.channel, session: entry.sessionId })}`}>
        The whole session
      </a>
      {entry.channel === "web" && isOwn(entry.sessionId) && (
        <a class="button primary" href={buildPath("chat", entry.sessionId)}>
          Open in chat
        </a>
      )}
    </>
  );
}

function EntryDetail({ entry }: { entry: SharedEntry }) {
  const kind = KINDS[entry.kind];
  const writer = describeWriter(entry);
  const writerKind = findEntity(entry.sender ?? "")?.kind ?? (entry.kind === "user_prompt" ? "human" : "agent");
  return (
    <div class="detail-body stack gap-4">
      <div class="line gap-3">
        <Avatar name={writer} kind={writerKind} />
        <div class="grow">
          {writerKind === "agent" && entry.sender !== null ? (
            <a class="line-text item-sender strong" href={buildPath("agents", entry.sender)}>
              <Line text={writer} limit={80} />
            </a>
          ) : (
            <Line text={writer} limit={80} class="item-sender strong" />
          )}
          <p class="muted line sm">
            <Line text={`${kind.title} · ${describeChannel(entry.channel)}`} />
          </p>
        </div>
        <span class="muted">
          <RelativeTime hasAgo time={entry.createdAt} />
        </span>
      </div>
      {entry.decision !== null && entry.status === "pending" ? <PendingDecision id={entry.decision} entry={entry} /> : <Markdown text={entry.content} />}
      {entry.kind === "system_question" && entry.status !== "pending" && <Answer entry={entry} />}
      <EntryFacts entry={entry} />
    </div>
  );
}

/** The question itself, to be answered here. */
function PendingDecision({ id, entry }: { id: string; entry: SharedEntry }) {
  const { value, error } = useLoad((signal) => client.showDecision({ id }, { signal }), [id]);
  if (value !== undefined) return <DecisionCard decision={value} />;
  return error === undefined ? <Skeleton rows={3} /> : <Markdown text={entry.content} />;
}

function Answer({ entry }: { entry: SharedEntry }) {
  const isAnswered = entry.status === "answered";
  return (
    <div class="card pad shared-outcome">
      <Icon name={isAnswered ? "check" : "close"} size={14} />
      <div class="grow">
        {entry.answer === null ? <p>{isAnswered ? "Answered" : "It ended without an answer"}</p> : <Markdown text={entry.answer} />}
        {entry.answeredAt !== null && (
          <p class="muted xs">
            <RelativeTime hasAgo time={entry.answeredAt} />, after {formatDuration(Math.max(0, Date.parse(entry.answeredAt) - Date.parse(entry.createdAt)))}
          </p>
        )}
      </div>
    </div>
  );
}

function EntryFacts({ entry }: { entry: SharedEntry }) {
  const targets = listTargets(entry);
  const others = Object.entries(entry.metadata).filter(([name]) => !KNOWN.includes(name));
  const event = entry.metadata["event_id"];
  return (
    <dl class="facts bar-above">
      <dt>Channel</dt>
      <dd>
        <a class="link" href={`/shared?${new URLSearchParams({ channel: entry.channel })}`}>
          <Line text={describeChannel(entry.channel)} limit={80} />
        </a>
      </dd>
      <dt>Session</dt>
      <dd>
        <a class="link" href={`/shared?${new URLSearchParams({ channel: entry.channel, session: entry.sessionId })}`}>
          <Line text={entry.sessionId} limit={160} />
        </a>
      </dd>
      <dt>Written by</dt>
      <dd class="text">
        {toLine(describeWriter(entry), 120)}
        {entry.senderName !== null && entry.sender !== null && `, on the channel ${toLine(entry.senderName, 120)}`}
      </dd>
      {entry.kind === "user_prompt" && <dt>Sent to</dt>}
      {entry.kind === "user_prompt" && (
        <dd class="text">
          {targets.length === 0
            ? "nobody: no rule names who gets it"
            : targets.map((target, index) => (
                <span key={target}>
                  {index > 0 && ", "}
                  {findEntity(target) ? (
                    <a class="link" href={buildPath("agents", target)}>
                      {toLine(displayName(target), 80)}
                    </a>
                  ) : (
                    toLine(target, 80)
                  )}
                </span>
              ))}
        </dd>
      )}
      {entry.status !== null && <dt>State</dt>}
      {entry.status !== null && <dd>{describeStatus(entry.status).text}</dd>}
      <dt>Written</dt>
      <dd>{formatExact(entry.createdAt)}</dd>
      {entry.answeredAt !== null && <dt>{entry.status === "answered" ? "Answered at" : "Ended at"}</dt>}
      {entry.answeredAt !== null && <dd>{formatExact(entry.answeredAt)}</dd>}
      {entry.decision !== null && <dt>Decision</dt>}
      {entry.decision !== null && (
        <dd>
          <a class="link" href={buildPath("decisions", entry.decision)}>
            {toLine(entry.decision, 80)}
          </a>
        </dd>
      )}
      {event !== undefined && entry.sender !== null && canOpen(buildPath("inbox", entry.sender)) && (
        <>
          <dt>Answers</dt>
          <dd>
            <a class="link" href={buildPath("inbox", entry.sender, event)}>
              {toLine(event, 80)}
            </a>
          </dd>
        </>
      )}
      {others.map(([name, value]) => [<dt key={name}>{toLine(name, 60)}</dt>, <dd key={`${name}=`} class="text">{toLine(value, 300)}</dd>])}
      <dt>Id</dt>
      <dd>
        <code class="text">{toLine(entry.id, 80)}</code>
      </dd>
    </dl>
  );
}
