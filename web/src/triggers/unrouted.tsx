/** Unrouted messages, which came through a channel and nobody got: replay them by the current rules, or discard them. */

import "../plans/plans.css";
import "./triggers.css";

import type { UnroutedMessage } from "@gatepost/client";

import { useCommands } from "../commands.js";
import { displayName } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { isAboutTriggers, useFollow } from "../plans/follow.js";
import { buildPath, changeQuery, keepQuery, navigate, query, segments } from "../router.js";
import { Icon } from "../ui/icons.js";
import { PlainText } from "../ui/markdown.js";
import { Empty, Failure, Line, Skeleton } from "../ui/parts.js";
import { useRowKeys } from "../ui/row-keys.js";
import { formatJson, toLine } from "../ui/text.js";
import { attempt, showToast } from "../ui/toasts.js";
import { formatExact, RelativeTime } from "../ui/time.js";
import { describeReason, letterText } from "./describe.js";
import { TriggersHead } from "./head.js";
import { LetterState } from "./letter-state.js";

export default function UnroutedMessages() {
  const isEnded = query.value.get("show") === "ended";
  const openId = segments.value[1];
  const { value, error, reload, refresh } = useLoad(async (signal) => {
    const list: UnroutedMessage[] = [];
    for await (const letter of client.pages(client.listDeadLetters, { replayed: true, limit: 1000 }, { signal })) list.push(letter);
    return list.reverse();
  }, []);
  useFollow(refresh, isAboutTriggers);
  const waiting = value?.filter(isWaiting);
  const ended = value?.filter((letter) => !isWaiting(letter));
  const list = (isEnded ? ended : waiting) ?? [];
  const shown = openId === undefined || list.some((letter) => letter.id === openId) ? list : [...(value ?? []).filter((letter) => letter.id === openId), ...list];
  const toggle = (letter: UnroutedMessage) => navigate(keepQuery(letter.id === openId ? "/unrouted" : buildPath("unrouted", letter.id)), { replace: true });
  const replay = async (letter: UnroutedMessage | undefined) => {
    if (letter === undefined || !isWaiting(letter)) return;
    await attempt(async () => {
      const { targets } = await client.replayDeadLetter({ id: letter.id });
      showToast(`Sent to ${toLine(targets.map(displayName).join(", "), 80)}`);
    });
    reload();
  };
  const discard = async (letter: UnroutedMessage | undefined) => {
    if (letter === undefined || !isWaiting(letter)) return;
    await attempt(() => client.discardDeadLetter({ id: letter.id }), "Discarded");
    reload();
  };
  const { index, item } = useRowKeys("Unrouted", shown, toggle);
  const target = item ?? shown.find((letter) => letter.id === openId);
  useCommands([
    { id: "replay-letter", title: "Replay the selected message", group: "Unrouted", keys: "z", run: () => void replay(target) },
    { id: "discard-letter", title: "Discard the selected message", group: "Unrouted", keys: "#", run: () => void discard(target) },
    { id: "close-letter", title: "Close the message", group: "Unrouted", keys: "Escape", run: () => navigate(keepQuery("/unrouted")), isKeyOnly: true },
  ]);
  return (
    <>
      <TriggersHead />
      <div class="view-body top stack gap-3">
        <nav class="tabs" aria-label="Which messages">
          <button class="tab small" aria-current={isEnded ? undefined : "page"} onClick={() => changeQuery({ show: undefined })}>
            Waiting {waiting && <span class="number">{waiting.length}</span>}
          </button>
          <button class="tab small" aria-current={isEnded ? "page" : undefined} onClick={() => changeQuery({ show: "ended" })}>
            Replayed and discarded {ended && <span class="number">{ended.length}</span>}
          </button>
        </nav>
        {value === undefined ? (
          error === undefined ? <Skeleton /> : <Failure error={error} onRetry={reload} />
        ) : shown.length === 0 ? (
          <Empty icon="check" title={isEnded ? "No message was replayed or discarded yet" : "No unrouted messages"}>
            <p>A message that no rule, trigger or default has a recipient for is kept here, until you add a rule and replay it.</p>
            <a class="button" href="/routes">
              See the rules
            </a>
          </Empty>
        ) : (
          <ul class="card row-list">
            {shown.map((letter, position) => (
              <li key={letter.id} class={position === index ? "is-selected" : ""}>
                <button class="row letter-row" aria-expanded={letter.id === openId} onClick={() => toggle(letter)}>
                  <Line text={letter.trigger ?? letter.channel} class="plan-name strong" />
                  <Line text={letterText(letter)} />
                  <span class="line end">
                    <LetterState letter={letter} />
                  </span>
                  <span class="number muted">
                    <RelativeTime time={letter.createdAt} />
                  </span>
                </button>
                {letter.id === openId && <Letter letter={letter} onReplay={() => void replay(letter)} onDiscard={() => void discard(letter)} />}
              </li>
            ))}
          </ul>
        )}
      </div>
    </>
  );
}

function Letter({ letter, onReplay, onDiscard }: { letter: UnroutedMessage; onReplay: () => void; onDiscard: () => void }) {
  const endedBy = letter.replayedBy ?? letter.discardedBy;
  const endedAt = letter.replayedAt ?? letter.discardedAt;
  return (
    <div class="letter-more row-more stack gap-3">
      {letter.content !== "" && <PlainText text={letter.content} limit={4000} />}
      <dl class="facts">
        <dt>Why</dt>
        <dd>{describeReason(letter.reason)}</dd>
        <dt>Came through</dt>
        <dd>
          {letter.trigger === null ? (
            <span class="text">{toLine(letter.channel, 80)}</span>
          ) : (
            <a class="link text" href={buildPath("triggers", letter.trigger)}>
              {toLine(letter.trigger, 80)}
            </a>
          )}
        </dd>
        <dt>From</dt>
        <dd class="text">{toLine(letter.sender === null ? (letter.senderName ?? "nobody here") : displayName(letter.sender), 120)}</dd>
        <dt>Session</dt>
        <dd class="text">{toLine(letter.sessionId, 160)}</dd>
        {Object.keys(letter.metadata).length > 0 && <dt>Metadata</dt>}
        {Object.keys(letter.metadata).length > 0 && <dd class="text">{toLine(Object.entries(letter.metadata).map(([name, value]) => `${name} = ${value}`).join(", "), 400)}</dd>}
        <dt>Arrived</dt>
        <dd>{formatExact(letter.createdAt)}</dd>
        {endedAt !== null && <dt>{letter.replayedAt === null ? "Discarded" : "Replayed"}</dt>}
        {endedAt !== null && <dd class="text">{`${formatExact(endedAt)}${endedBy === null ? "" : ` by ${toLine(displayName(endedBy), 60)}`}`}</dd>}
      </dl>
      {letter.payload !== null && (
        <details class="fold" open={letter.content === ""}>
          <summary>Payload</summary>
          <PlainText text={formatJson(letter.payload)} />
        </details>
      )}
      {isWaiting(letter) && (
        <div class="line gap-2 wrap sm">
          <button class="button primary" title="z" onClick={onReplay}>
            <Icon name="replay" size={14} /> Replay
          </button>
          <a class="button" href={suggestRule(letter)}>
            <Icon name="plus" size={14} /> Add a rule for it
          </a>
          <span class="grow" />
          <button class="button danger" title="#" onClick={onDiscard}>
            <Icon name="trash" size={14} /> Discard
          </button>
        </div>
      )}
    </div>
  );
}

/** Return the address of a new rule for messages like this one, filled in but for who gets them. */
function suggestRule({ id, channel, trigger, payload }: UnroutedMessage): string {
  const filters = trigger === null ? [] : [`trigger = ${JSON.stringify(trigger)}`];
  const type = isFields(payload) ? (["action", "type", "event"] as const).find((name) => typeof payload[name] === "string") : undefined;
  if (type !== undefined && isFields(payload)) filters.push(`payload.${type} = ${JSON.stringify(payload[type])}`);
  return `/routes?${new URLSearchParams({ new: channel, name: `from ${trigger ?? channel}`, filters: filters.join("\n"), replay: id })}`;
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isWaiting(letter: UnroutedMessage): boolean {
  return letter.replayedAt === null && letter.discardedAt === null;
}
