/** One item, as it was sent, with what can be done about it. */

import type { Item, Recipient } from "@gatepost/client";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { readDraft, useDraft } from "../data/drafts.js";
import { decisions, displayName } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client, me } from "../data/session.js";
import { DecisionCard } from "../decisions/card.js";
import { ComposeDialog } from "../mail/compose-dialog.js";
import { buildPath } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Markdown, PlainText } from "../ui/markdown.js";
import { Name } from "../ui/name.js";
import { Avatar, describePriority, Line, Priority, Skeleton } from "../ui/parts.js";
import { useSubmission } from "../ui/submission.js";
import { formatJson, toLine } from "../ui/text.js";
import { attempt } from "../ui/toasts.js";
import { formatExact, RelativeTime } from "../ui/time.js";
import { canOpen } from "../views.js";
import { PairingAlert } from "./pairing-alert.js";
import { Thread } from "./thread.js";
import type { Action } from "./triage.js";
import { canReply, describeAwaited, describeReason, describeState, describeType, findPlace, itemText } from "./describe.js";

interface DetailProps {
  item: Item;
  recipients: readonly Recipient[];
  isPerson: boolean;
  isReplying: boolean;
  onReplying: (isReplying: boolean) => void;
  onClose: () => void;
  onAct: (item: Item, action: Action, done: string) => void;
  onSnooze: (item: Item) => void;
}

const REPLAYABLE = ["dead", "expired", "discarded", "delivered"];

export function ItemDetail({ item, recipients, isPerson, isReplying, onReplying, onClose, onAct, onSnooze }: DetailProps) {
  useEffect(() => {
    if (item.seenAt === null) void client.markSeen({ name: item.recipient, events: [item.eventId] }).catch(() => undefined);
  }, [item.eventId]);
  const [replies, setReplies] = useState(0);
  const [isForwarding, setForwarding] = useState(false);
  const decision = decisionId(item);
  const place = findPlace(item);
  // Somebody has to answer a question.
  const canDiscard = item.state === "dead" || (item.state === "pending" && decision === undefined);
  return (
    <section class="inbox-detail" aria-label="Item">
      <header class="view-head">
        <BackButton onClick={onClose} />
        <span class="grow" />
        {isPerson && item.state === "pending" && (
          <button class="button primary" title="e" onClick={() => onAct(item, "complete", "Done")}>
            <Icon name="check" size={14} /> Done
          </button>
        )}
        {item.state === "pending" &&
          (item.hiddenUntil !== undefined ? (
            <button class="button" title="h" onClick={() => onAct(item, "unsnooze", "Shown again")}>
              <Icon name="inbox" size={14} /> Show again
            </button>
          ) : (
            <button class="button" title="h" onClick={() => onSnooze(item)}>
              <Icon name="clock" size={14} /> <span class="hide-phone">Snooze</span>
            </button>
          ))}
        {canReply(item) && (
          <button class="button" title="r" onClick={() => onReplying(true)}>
            <Icon name="reply" size={14} /> Reply
          </button>
        )}
        {item.recipient === me.value && item.content !== "" && decision === undefined && (
          <button class="button" onClick={() => setForwarding(true)}>
            <Icon name="send" size={14} /> <span class="hide-phone">Forward</span>
          </button>
        )}
        {REPLAYABLE.includes(item.state) && (
          <button class="button" title="z" onClick={() => onAct(item, "replay", "Pending again")}>
            <Icon name="replay" size={14} /> Replay
          </button>
        )}
        {canDiscard && (
          <button class="button danger" title="#" onClick={() => onAct(item, "discard", "Discarded")}>
            <Icon name="trash" size={14} /> <span class="hide-phone">Discard</span>
          </button>
        )}
      </header>
      <div class="detail-body stack gap-4">
        <div class="line gap-3">
          <Avatar name={item.senderName ?? item.source} kind={item.senderType} />
          <div class="grow">
            <Name name={item.sender} label={item.senderName ?? item.sender ?? item.source} outside="a service" class="item-sender strong" />
            <p class="muted line sm">
              <Line text={describeReason(item)} />
            </p>
          </div>
          <span class="muted">
            <RelativeTime hasAgo time={item.createdAt} />
          </span>
        </div>
        {item.subject !== null && item.subject !== "" && (
          <h2 class="detail-subject text" dir="auto">
            {toLine(item.subject, 400)}
          </h2>
        )}
        {item.state === "dead" && <p class="notice danger">It failed {item.attempts} times and is dead. Replay makes it pending again.</p>}
        {item.hiddenUntil !== undefined && (
          <p class="notice">
            Snoozed until {formatExact(item.hiddenUntil)}
            {item.awaits !== undefined && <span class="text">{`, or until ${describeAwaited(item.awaits)}`}</span>}
          </p>
        )}
        {decision !== undefined && <InboxDecision id={decision} />}
        {item.content !== "" && decision === undefined && <Markdown text={itemText(item)} />}
        {item.type === "alert" && item.ref?.type === "pairing" && canOpen("/channels/pairing") && <PairingAlert id={item.ref.id} />}
        {place !== undefined && canOpen(place.href) && (
          <a class="button start" href={place.href}>
            {place.title}
          </a>
        )}
        {item.data !== null && item.data !== undefined && (
          <details class="fold" open={item.content === "" && decision === undefined}>
            <summary>Data</summary>
            <PlainText text={formatJson(item.data)} />
          </details>
        )}
        {canReply(item) && (isReplying || readDraft(replyDraft(item)) !== undefined) && <ReplyForm key={item.eventId} item={item} isWanted={isReplying} onWanted={onReplying} onSent={() => setReplies(replies + 1)} />}
        <Thread item={item} revision={replies} />
        <ItemFacts item={item} recipients={recipients} isPerson={isPerson} />
      </div>
      {isForwarding && <ComposeDialog item={item} onClose={() => setForwarding(false)} />}
    </section>
  );
}

export function BackButton({ onClick }: { onClick: () => void }) {
  return (
    <button class="icon-button" aria-label="Back to the list" title="Back to the list (Escape)" onClick={onClick}>
      <Icon name="back" />
    </button>
  );
}

/** Put the focus into the reply that is being written. */
export function focusReply(): void {
  document.querySelector<HTMLElement>(".inbox-detail .answer-form textarea")?.focus();
}

function replyDraft(item: Item): string {
  return `reply:${item.recipient}:${item.eventId}`;
}

/** One that was begun before is shown, but does not take the keys of the list until it is wanted. */
function ReplyForm({ item, isWanted, onWanted, onSent }: { item: Item; isWanted: boolean; onWanted: (isWanted: boolean) => void; onSent: () => void }) {
  const [text, setText] = useDraft(replyDraft(item));
  const field = useRef<HTMLTextAreaElement>(null);
  // At once: the next key is for the field.
  useLayoutEffect(() => {
    if (isWanted) field.current?.focus();
    else field.current?.blur();
  }, [isWanted]);
  const discard = () => {
    setText(undefined);
    onWanted(false);
  };
  const { isBusy, submit } = useSubmission();
  const send = async () => {
    if (text.trim() === "") return;
    await submit(async () => {
      const isSent = await attempt(() => client.replyToEvent({ id: item.eventId, text, sender: item.recipient }), "Reply sent");
      if (isSent) {
        discard();
        onSent();
      }
      return isSent;
    });
  };
  return (
    <form class="answer-form stack gap-2" onSubmit={(event) => (event.preventDefault(), void send())}>
      <label class="label">
        Reply as {toLine(displayName(item.recipient), 50)}
        <textarea
          class="field"
          rows={4}
          value={text}
          ref={field}
          onFocus={() => onWanted(true)}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") onWanted(false);
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void send();
          }}
        />
      </label>
      <div class="line gap-2">
        <button class="button primary" disabled={isBusy || text.trim() === ""}>
          Send reply
        </button>
        <button class="button quiet" type="button" onClick={discard}>
          Cancel
        </button>
      </div>
    </form>
  );
}

function ItemFacts({ item, recipients, isPerson }: { item: Item; recipients: readonly Recipient[]; isPerson: boolean }) {
  const others = recipients.filter((other) => other.name !== item.recipient);
  return (
    <>
      <dl class="facts bar-above">
        <dt>State</dt>
        <dd>
          {describeState(item.state, isPerson)}
          {item.attempts > 0 && `, ${item.attempts} failed tries`}
          {item.receipt && <Reader owner={item.receipt.owner} />}
        </dd>
        <dt>Priority</dt>
        <dd class="line">
          <Priority level={item.priority} /> {describePriority(item.priority)}
        </dd>
        <dt>Type</dt>
        <dd>
          {describeType(item.type)}
          {item.source !== item.type && <span class="text"> from {toLine(item.source, 80)}</span>}
        </dd>
        <dt>Arrived</dt>
        <dd>{formatExact(item.createdAt)}</dd>
        {item.expiresAt && <dt>Expires</dt>}
        {item.expiresAt && <dd>{formatExact(item.expiresAt)}</dd>}
        {item.ref && <dt>About</dt>}
        {item.ref && <dd class="text">{toLine(`${item.ref.type}:${item.ref.id}`, 120)}</dd>}
        {others.length > 0 && <dt>Also to</dt>}
        {others.length > 0 && <dd class="text">{toLine(others.map((other) => `${displayName(other.name)} (${other.state})`).join(", "), 400)}</dd>}
      </dl>
      <details class="fold">
        <summary>Technical details</summary>
        <dl class="facts">
          <dt>Id</dt>
          <dd>
            <code>{item.eventId}</code>
          </dd>
          {item.dedupKey && <dt>Dedup key</dt>}
          {item.dedupKey && (
            <dd>
              <code class="text">{toLine(item.dedupKey, 160)}</code>
            </dd>
          )}
          <dt>Trust</dt>
          <dd>{item.trust}</dd>
        </dl>
      </details>
    </>
  );
}

/** Who read it: a run leads to what it made of it. */
function Reader({ owner }: { owner: string }) {
  if (!owner.startsWith("run_")) return <span class="text">{`, read by ${toLine(owner, 60)}`}</span>;
  return (
    <>
      , read by{" "}
      <a class="link" href={buildPath("runs", owner)}>
        a run
      </a>
    </>
  );
}

/** The question itself, to be answered here. */
function InboxDecision({ id }: { id: string }) {
  const live = decisions().value.decisions.find((decision) => decision.id === id);
  const { value } = useLoad((signal) => client.showDecision({ id }, { signal }), [id, live === undefined]);
  const decision = live ?? value;
  return decision === undefined ? <Skeleton rows={3} /> : <DecisionCard decision={decision} />;
}

function decisionId(item: Item): string | undefined {
  const data = item.data as { decisionId?: unknown } | null;
  return item.type === "decision" && typeof data?.decisionId === "string" ? data.decisionId : undefined;
}
