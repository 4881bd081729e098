/** One entry of a conversation: what a person wrote, what an agent answered, and what it asks. */

import type { SharedEntry } from "@gatepost/client";

import { findEntity } from "../data/live.js";
import { buildPath } from "../router.js";
import { Clock, SenderName } from "../spaces/message.js";
import { Icon } from "../ui/icons.js";
import { Markdown } from "../ui/markdown.js";
import { memo } from "../ui/memo.js";
import { Name } from "../ui/name.js";
import { Avatar, Line } from "../ui/parts.js";
import { canOpen } from "../views.js";
import { Question } from "./question.js";

interface EntryProps {
  entry: SharedEntry;
  isFollowing: boolean;
  /** Whether the keys 1 to 9 answer this question. */
  hasKeys: boolean;
  /** Whether an agent thinks about what was written before, and reads this after that. */
  isQueued: boolean;
}

export const EntryRow = memo(function EntryRow({ entry, isFollowing, hasKeys, isQueued }: EntryProps) {
  const isQuestion = entry.kind === "system_question";
  const isShort = isFollowing && !isQuestion;
  const sender = entry.sender ?? "";
  const label = entry.sender === null ? (entry.senderName ?? "somebody") : (findEntity(entry.sender)?.displayName ?? entry.sender);
  const kind = findEntity(sender)?.kind ?? (entry.kind === "user_prompt" ? "human" : "agent");
  return (
    <article class={`message chat-entry ${entry.kind} ${isShort ? "is-following" : ""}`}>
      {isShort ? <Clock time={entry.createdAt} /> : <Avatar name={label} kind={kind} />}
      <div>
        {!isShort && (
          <header class="message-head line gap-2">
            <SenderName name={sender} label={label} isAgent={kind === "agent"} />
            {isQuestion && <span class="muted">asks</span>}
            {entry.kind === "user_prompt" && <Recipients entry={entry} />}
            <Clock time={entry.createdAt} />
          </header>
        )}
        {isQuestion ? <Question entry={entry} hasKeys={hasKeys} /> : <Markdown text={entry.content} />}
        {isQueued && (
          <p class="line xs muted">
            <Icon name="clock" size={12} /> waits until this thought is done
          </p>
        )}
        {entry.kind === "user_prompt" && entry.metadata["targets"] === "" && (
          <p class="notice">
            <Icon name="alert" size={14} />
            <span class="grow">Nobody got this. Choose whom you write to below{canOpen("/routes") && ", or add a rule that says who answers"}.</span>
          </p>
        )}
      </div>
    </article>
  );
});

/** To whom a prompt went. */
function Recipients({ entry }: { entry: SharedEntry }) {
  const targets = listTargets(entry);
  if (targets.length === 0) return null;
  return (
    <span class="line-text muted">
      to{" "}
      {targets.map((target, index) => (
        <span key={target}>
          {index > 0 && ", "}
          {findEntity(target) === undefined ? (
            <Line text={target} limit={60} />
          ) : (
            <a class="entry-target accent-hover" href={buildPath("agents", target)}>
              <Name name={target} />
            </a>
          )}
        </span>
      ))}
    </span>
  );
}

/** Return the addresses that got a prompt. */
export function listTargets(entry: SharedEntry): readonly string[] {
  return (entry.metadata["targets"] ?? "").split(" ").filter(Boolean);
}
