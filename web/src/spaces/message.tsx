/** Messages: stored, being written, and being sent. */

import type { Message, SentMessage, StreamingMessage } from "@gatepost/client";
import { memo } from "../ui/memo.js";
import { useState } from "preact/hooks";

import { displayName, findEntity } from "../data/live.js";
import { me } from "../data/session.js";
import { buildPath } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Markdown } from "../ui/markdown.js";
import { Name } from "../ui/name.js";
import { Avatar, Dots, Line } from "../ui/parts.js";
import { describeError } from "../ui/text.js";
import { formatClock, formatExact } from "../ui/time.js";
import { canOpen } from "../views.js";
import { RunActivity } from "./run-activity.js";

export const MessageRow = memo(function MessageRow({ message, isFollowing }: { message: Message; isFollowing: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const runId = readRunId(message.data);
  return (
    <article class={`message ${isFollowing ? "is-following" : ""}`}>
      {isFollowing ? <Clock time={message.createdAt} /> : <Avatar name={message.senderName} kind={message.senderType} />}
      <div>
        {!isFollowing && (
          <header class="message-head line gap-2">
            <SenderName name={message.sender} label={message.senderName} isAgent={message.senderType === "agent"} />
            <Clock time={message.createdAt} />
          </header>
        )}
        <Markdown text={message.content} />
        {runId !== undefined && canOpen("/runs") && (
          <>
            <button class="how-button accent-hover" aria-expanded={isOpen} aria-label="Show the steps of the agent" title="Show what the agent did before it wrote this" onClick={() => setOpen(!isOpen)}>
              <Icon name={isOpen ? "down" : "tool"} size={12} /> <span class="how-word">Steps</span>
            </button>
            {isOpen && <RunActivity id={runId} />}
          </>
        )}
      </div>
    </article>
  );
});

export function StreamRow({ stream }: { stream: StreamingMessage }) {
  const name = findEntity(stream.agent)?.displayName ?? stream.agent;
  return (
    <article class="message is-streaming" aria-busy="true">
      <Avatar name={name} kind={findEntity(stream.agent)?.kind ?? "agent"} isActive />
      <div>
        <header class="message-head line gap-2">
          <SenderName name={stream.agent} label={name} isAgent />
          <Dots />
        </header>
        <Markdown text={(stream.isPartial ? "… " : "") + stream.text} />
      </div>
    </article>
  );
}

interface SentProps {
  message: SentMessage;
  onResend: (key: string) => void;
  onDiscard: (key: string) => void;
}

export function SentRow({ message, onResend, onDiscard }: SentProps) {
  const name = displayName(me.value);
  return (
    <article class={`message ${message.error ? "is-failed" : "is-sending"}`}>
      <Avatar name={name} kind="human" />
      <div>
        <header class="message-head line gap-2">
          <Line text={name} class="sender-name" />
          <span class="muted">{message.error ? "not sent" : "sending …"}</span>
        </header>
        <Markdown text={message.content} />
        {message.error && (
          <p class="notice danger">
            <span class="text grow">{describeError(message.error)}</span>
            <button class="button small" onClick={() => onResend(message.key)}>
              Send again
            </button>
            <button class="button small quiet" onClick={() => onDiscard(message.key)}>
              Discard
            </button>
          </p>
        )}
      </div>
    </article>
  );
}

export function SenderName({ name, label, isAgent }: { name: string; label: string; isAgent: boolean }) {
  const text = <Name name={name === "" ? null : name} label={label} limit={80} class="sender-name" />;
  return isAgent ? (
    <a class="sender-link line-text" href={buildPath("agents", name)}>
      {text}
    </a>
  ) : (
    text
  );
}

export function Clock({ time }: { time: string }) {
  return (
    <time class="message-time" dateTime={time} title={formatExact(time)}>
      {formatClock(time)}
    </time>
  );
}

function readRunId(data: unknown): string | undefined {
  if (typeof data !== "object" || data === null) return undefined;
  const { runId } = data as { runId?: unknown };
  return typeof runId === "string" ? runId : undefined;
}
