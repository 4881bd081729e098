/** One conversation: its history, who thinks about it, and the place to write. */

import type { SharedEntry } from "@gatepost/client";
import { useMemo, useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { agents, displayName, findEntity, isThinking } from "../data/live.js";
import { client, isAdministrator, me } from "../data/session.js";
import { useStore } from "../data/store.js";
import { buildPath, navigate } from "../router.js";
import { Composer, focusComposer, focusNextComposer } from "../spaces/composer.js";
import { History } from "../spaces/history.js";
import { SentRow, StreamRow } from "../spaces/message.js";
import { Thinking } from "../spaces/thinking.js";
import { useSubject } from "../title.js";
import type { NameOption } from "../ui/completion.js";
import { ConfirmDialog } from "../ui/confirm-dialog.js";
import { Icon } from "../ui/icons.js";
import { Empty, Failure, Line, Skeleton } from "../ui/parts.js";
import { toLine } from "../ui/text.js";
import { attempt, showToast } from "../ui/toasts.js";
import { ConversationStore, type ConversationState } from "./conversation.js";
import { EntryRow, listTargets } from "./entry.js";
import { CHANNEL, describeSession, findEarlier, isOwn, parseBase, parseGeneration, parseName } from "./session-id.js";
import { loadSessions, noteSeen, readRecipient, sessions, writeRecipient } from "./sessions.js";
import { listPartners } from "./start.js";

export function Conversation({ id }: { id: string }) {
  const store = useMemo(() => new ConversationStore(id), [id]);
  const state = useStore(store);
  useSubject(describeSession(id));
  const [isResetting, setResetting] = useState(false);
  const { entries } = state;
  const current = sessions.value?.find((session) => parseBase(session.id) === parseBase(id));
  const isEnded = current !== undefined && parseGeneration(current.id) > parseGeneration(id);
  const isMine = isOwn(id);
  const canWrite = isMine && !isEnded;
  const openQuestion = entries.find((entry) => entry.status === "pending");
  const thinkers = listThinkers(state);
  const turns = useMemo(() => listTurns(entries), [entries]);
  const queuedAfter = Math.max(-1, ...Object.entries(state.thinking).map(([, seq]) => seq));

  const send = async (text: string, to: string | null) => {
    await attempt(async () => {
      const chat = await store.send(text, to);
      // An answer that counts is shown at its question.
      if (chat.notice !== undefined && chat.events.length === 0) showToast(chat.notice, { isError: true });
      if (chat.sessionId === id) return;
      focusNextComposer(chat.sessionId);
      navigate(buildPath("chat", chat.sessionId));
    });
  };
  const reset = async () => {
    await attempt(async () => {
      const chat = await client.sendChat({ channel: CHANNEL, session: parseName(id) ?? null, reset: true, sender: me.value });
      await loadSessions();
      focusNextComposer(chat.sessionId);
      navigate(buildPath("chat", chat.sessionId));
    }, "Conversation reset");
  };
  useCommands([
    { id: "write", title: "Write a message", group: "Chat", keys: "r", run: focusComposer },
    { id: "history", title: "Show this conversation in the shared inbox", group: "Chat", keys: "s", run: () => navigate(buildSharedPath(id)) },
    ...(canWrite ? [{ id: "reset", title: "Reset this conversation", group: "Chat", run: () => setResetting(true) }] : []),
  ]);

  return (
    <section class="conversation space-main pane" aria-label="Conversation">
      <header class="view-head">
        <a class="icon-button only-phone" href="/chat" aria-label="All conversations">
          <Icon name="back" />
        </a>
        <h1 class="line-text">
          <Line text={describeSession(id)} limit={120} />
        </h1>
        {isMine && <Line text={id} limit={120} class="muted session-id xs hide-phone" />}
        <span class="grow" />
        <a class="icon-button" href={buildSharedPath(id)} aria-label="Show this conversation in the shared inbox" title="Show this conversation in the shared inbox (s)">
          <Icon name="channels" />
        </a>
        {canWrite && entries.length > 0 && (
          <button class="icon-button" aria-label="Reset this conversation" title="Reset this conversation" onClick={() => setResetting(true)}>
            <Icon name="replay" />
          </button>
        )}
      </header>
      {state.isLoading ? (
        <Skeleton rows={9} hasKeys />
      ) : state.error !== undefined && entries.length === 0 ? (
        <Failure error={state.error} onRetry={() => void store.refresh()} />
      ) : entries.length + state.sent.length === 0 ? (
        <EmptyConversation id={id} canWrite={canWrite} />
      ) : (
        <History
          messages={entries}
          renderMessage={(entry, isFollowing) => (
            <EntryRow entry={entry} isFollowing={isFollowing && !turns.has(entry.seq)} hasKeys={entry === openQuestion} isQueued={entry.kind === "user_prompt" && queuedAfter >= 0 && entry.seq > queuedAfter} />
          )}
          sentCount={state.sent.length}
          tail={
            <>
              {state.sent.map((message) => (
                <SentRow key={message.key} message={message} onResend={(key) => void attempt(async () => store.resend(key))} onDiscard={(key) => store.discard(key)} />
              ))}
              {Object.values(state.streams).map((stream) => (
                <StreamRow key={stream.streamId} stream={stream} />
              ))}
            </>
          }
          hasOlder={state.hasOlder}
          beginning={<Beginning id={id} />}
          onOlder={() => store.loadOlder()}
          onRead={(seq) => noteSeen(id, seq)}
        />
      )}
      <Thinking members={thinkers} streams={state.streams} />
      {canWrite ? (
        <ChatComposer id={id} entries={entries} onSend={(text, to) => void send(text, to)} />
      ) : (
        <div class="join-bar sm line gap-3">
          <span class="muted grow">{describeReading(isMine)}</span>
          {isMine && current && (
            <a class="button" href={buildPath("chat", current.id)}>
              Go to the current one
            </a>
          )}
        </div>
      )}
      {isResetting && (
        <ConfirmDialog title="Reset this conversation?" action="Reset" onClose={() => setResetting(false)} onConfirm={reset}>
          A new conversation begins. The agents that got your messages here are told, and their late answers stay here, where you can still read them.
        </ConfirmDialog>
      )}
    </section>
  );
}

/** Return why nothing can be written. */
function describeReading(isMine: boolean): string {
  if (isMine) return "This conversation was reset: you can read it, but not write in it.";
  return isAdministrator.value ? "This is somebody else's conversation; you read it as the administrator." : "This is not a conversation of yours.";
}

function EmptyConversation({ id, canWrite }: { id: string; canWrite: boolean }) {
  const earlier = findEarlier(id);
  return (
    <Empty icon="chat" title={canWrite ? "Write a message" : "No messages"}>
      {canWrite && <p>What you write goes to the agent that is chosen below. Its answer comes here, even if you leave this page.</p>}
      {earlier !== undefined && (
        <a class="link" href={buildPath("chat", earlier)}>
          Show the conversation before it
        </a>
      )}
    </Empty>
  );
}

function Beginning({ id }: { id: string }) {
  const earlier = findEarlier(id);
  return (
    <p>
      This is the beginning of the conversation.{" "}
      {earlier !== undefined && (
        <a class="link" href={buildPath("chat", earlier)}>
          Show the conversation before it
        </a>
      )}
    </p>
  );
}

interface ChatComposerProps {
  id: string;
  entries: readonly SharedEntry[];
  onSend: (text: string, to: string | null) => void;
}

/** A text that begins with the name of an agent goes to that agent, others to whom was chosen. */
function ChatComposer({ id, entries, onSend }: ChatComposerProps) {
  const [chosen, setChosen] = useState(() => readRecipient(id));
  const [text, setText] = useState("");
  const usual = chosen === undefined ? findUsualRecipient(entries) : chosen;
  const addressee = findAddressee(text);
  const to = addressee ?? usual;
  const partners = listPartners();
  const names: readonly NameOption[] = partners.map(({ name, displayName: label, kind }) => ({ name, displayName: label, kind }));
  const question = entries.find((entry) => entry.status === "pending" && (to === null || entry.askedBy === to));
  const choose = (name: string) => {
    setChosen(name === "" ? null : name);
    writeRecipient(id, name === "" ? null : name);
    focusComposer();
  };
  return (
    <Composer id={id} placeholder={to === null ? "Write a message" : `Message ${toLine(displayName(to), 40)}`} names={names} onText={setText} onSend={(words) => onSend(words, findAddressee(words) ?? usual)}>
      <label class="chat-to line">
        <span>To</span>
        <select class="chat-to-select" value={to ?? ""} disabled={addressee !== undefined} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="">whom the rules choose</option>
          {to !== null && !partners.some((partner) => partner.name === to) && <option value={to}>{toLine(to, 60)}</option>}
          {partners.map((partner) => (
            <option key={partner.name} value={partner.name}>
              {toLine(displayName(partner.name), 80)}
            </option>
          ))}
        </select>
      </label>
      <span class="chat-hint line-text">{describeWait(to) ?? (question === undefined ? "Begin with @name to write to another agent" : "What you write may answer the open question")}</span>
    </Composer>
  );
}

/** Return the agent that a text begins with. */
function findAddressee(text: string): string | undefined {
  const name = /^\s*@([a-z0-9][a-z0-9._-]*[a-z0-9]|[a-z0-9])(?=[\s,:;.!?]|$)/i.exec(text)?.[1]?.toLowerCase();
  return name !== undefined && findEntity(name)?.kind === "agent" ? name : undefined;
}

/** Return who got the last prompt that named nobody, if it was one agent; null if the rules decide. */
function findUsualRecipient(entries: readonly SharedEntry[]): string | null {
  const last = entries.findLast((entry) => entry.kind === "user_prompt" && findAddressee(entry.content) === undefined);
  const [target, ...others] = last === undefined ? [] : listTargets(last);
  return target !== undefined && others.length === 0 && target !== "user-agent" && findEntity(target)?.kind === "agent" ? target : null;
}

/** Return why an answer may take a while; undefined if it need not. */
function describeWait(name: string | null): string | undefined {
  const agent = name === null ? undefined : agents().value.agents.find((other) => other.name === name);
  if (agent === undefined) return undefined;
  if (agent.paused) return "This agent is paused: it answers when somebody resumes it";
  return agent.resident ? undefined : "This agent is a guest: it reads this when it next reads its inbox";
}

/** Return the prompts that went to others than the prompt before. */
function listTurns(entries: readonly SharedEntry[]): ReadonlySet<number> {
  const prompts = entries.filter((entry) => entry.kind === "user_prompt");
  return new Set(prompts.filter((entry, index) => entry.metadata["targets"] !== prompts[index - 1]?.metadata["targets"]).map((entry) => entry.seq));
}

/** Return who thinks about the conversation, as far as is known. */
function listThinkers(state: ConversationState): { name: string; displayName: string }[] {
  const names = new Set(Object.keys(state.thinking));
  for (const stream of Object.values(state.streams)) names.add(stream.agent);
  // Who thought before the page was opened: those who got the last prompt and have not answered it.
  const last = state.entries.at(-1);
  if (last?.kind === "user_prompt") for (const target of listTargets(last)) if (isThinking(target)) names.add(target);
  return [...names].map((name) => ({ name, displayName: displayName(name) }));
}

function buildSharedPath(id: string): string {
  return `/shared?${new URLSearchParams({ session: id })}`;
}
