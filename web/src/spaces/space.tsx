/** One space: its history, who thinks, and the place to write. */

import { SpaceStore } from "@gatepost/client";
import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";

import { STOP_KEY, stopAgent } from "../agents/stop.js";
import { useCommands } from "../commands.js";
import { keepUnsent, readUnsent } from "../data/drafts.js";
import { feed } from "../data/feed.js";
import { agents, entities, isThinking } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client, isAdministrator, me } from "../data/session.js";
import { loadMembers, noteRead, spaces, type SpaceEntry } from "../data/spaces.js";
import { closeWhileHidden } from "../data/shared-stream.js";
import { useStore } from "../data/store.js";
import { useSubject } from "../title.js";
import type { NameOption } from "../ui/completion.js";
import { Icon } from "../ui/icons.js";
import { Avatar, Empty, Failure, Line, Skeleton, Unloaded } from "../ui/parts.js";
import { toLine } from "../ui/text.js";
import { attempt } from "../ui/toasts.js";
import { Composer, focusComposer } from "./composer.js";
import { History } from "./history.js";
import { MessageRow, SentRow, StreamRow } from "./message.js";
import { Members } from "./members.js";
import { SpaceDecisions } from "./space-decisions.js";
import { Thinking } from "./thinking.js";

const PAGE_LENGTH = 100;

export function SpaceView({ id }: { id: string }) {
  const listed = spaces.value?.find((space) => space.id === id);
  const { value, error, reload } = useLoad((signal) => client.showSpace({ id }, { signal }), [id]);
  useSubject((listed ?? value)?.name);
  if (listed === undefined && (value === undefined || spaces.value === undefined)) return <Unloaded title="Space" back="/spaces" backLabel="All spaces" error={error} onRetry={reload} />;
  const entry = listed ?? { ...value, members: [], isMember: false, unread: 0 };
  // Another store when the person joins or leaves: the administrator reads what members write.
  return <OpenSpace key={String(entry.isMember)} space={entry as SpaceEntry} />;
}

function OpenSpace({ space }: { space: SpaceEntry }) {
  const { id } = space;
  const member = space.isMember ? me.value : undefined;
  const store = useMemo(() => new SpaceStore(client, id, { feed, adaptStream: closeWhileHidden, limit: PAGE_LENGTH, unsent: readUnsent(id), ...(member === undefined ? {} : { member }) }), [id, member]);
  const state = useStore(store);
  useLayoutEffect(() => keepUnsent(id, store), [id, store]);
  const [showMembers, setShowMembers] = useState(false);
  const [firstUnread] = useState(() => (space.unread > 0 ? space.lastSeq - space.unread + 1 : undefined));
  const thinking = space.members.filter(({ name }) => isThinking(name) && agents().value.runs[name] !== undefined);

  const markRead = (seq: number) => {
    if (!space.isMember || space.unread === 0) return;
    noteRead(id, seq);
  };
  useEffect(() => void loadMembers(id).catch(() => undefined), [id]);
  useCommands([
    { id: "write", title: "Write a message", group: "Space", keys: "r", run: focusComposer },
    { id: "members", title: "Show members", group: "Space", keys: "m", run: () => setShowMembers(!showMembers) },
    ...(isAdministrator.value ? thinking.map(({ name, displayName }, index) => ({ id: `stop-${name}`, title: `Stop ${toLine(displayName, 60)}`, group: "Space", ...(index === 0 ? { keys: STOP_KEY } : {}), run: () => void stopAgent(name) })) : []),
    { id: "read", title: "Mark all as read", group: "Space", keys: "e", run: () => markRead(space.lastSeq) },
  ]);

  return (
    <div class={`space split ${showMembers ? "has-members" : ""}`}>
      <section class="space-main pane" aria-label="Messages">
        <header class="view-head">
          <a class="icon-button only-phone" href="/spaces" aria-label="All spaces">
            <Icon name="back" />
          </a>
          <h1 class="line-text">
            <span class="muted"># </span>
            <Line text={space.name} limit={120} />
          </h1>
          <span class="grow" />
          <button class="members-button soft sm line" aria-pressed={showMembers} title="Members (m)" onClick={() => setShowMembers(!showMembers)}>
            <span class="avatars hide-phone" aria-hidden="true">
              {space.members.slice(0, 5).map(({ name, displayName, kind }) => (
                <Avatar key={name} name={displayName} kind={kind} isSmall isActive={isThinking(name)} />
              ))}
            </span>
            <Icon name="people" />
            <span class="number">{space.members.length}</span>
            <span class="visually-hidden">members</span>
          </button>
        </header>
        {state.isLoading ? (
          <Skeleton rows={9} hasKeys />
        ) : state.error !== undefined && state.messages.length === 0 ? (
          <Failure error={state.error} onRetry={() => void store.refresh()} />
        ) : state.messages.length + state.sent.length + Object.keys(state.streams).length === 0 ? (
          <Empty icon="space" title="No messages yet">
            <p>{space.members.some(({ kind }) => kind === "agent") ? "Say hello: the agents in this space wake and answer." : "Add an agent to this space, and it answers what you post."}</p>
          </Empty>
        ) : (
          <History
            messages={state.messages}
            renderMessage={(message, isFollowing) => <MessageRow message={message} isFollowing={isFollowing} />}
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
            beginning="This is the beginning of the space."
            firstUnread={firstUnread}
            onOlder={() => store.loadOlder()}
            onRead={markRead}
          />
        )}
        {space.isMember && <SpaceDecisions space={space} />}
        <Thinking members={thinking} streams={state.streams} />
        {space.isMember ? (
          <Composer id={id} placeholder={`Message #${toLine(space.name, 40)}`} names={listNames(space)} onSend={(text) => void attempt(() => store.send(text))} />
        ) : (
          <div class="join-bar sm line gap-3">
            <span class="muted grow">You are not in this space; you read it as the administrator.</span>
            <button class="button" onClick={() => void attempt(() => join(id))}>
              Join to write
            </button>
          </div>
        )}
      </section>
      {showMembers && <Members space={space} onClose={() => setShowMembers(false)} />}
    </div>
  );
}

async function join(id: string): Promise<void> {
  await client.addMember({ id, name: me.value });
  await loadMembers(id);
}

/** Return the names to complete: the members, then the others. */
function listNames(space: SpaceEntry): readonly NameOption[] {
  const members = space.members.filter(({ name }) => name !== me.value);
  const names = new Set(space.members.map(({ name }) => name));
  const others = entities.value.filter(({ name, kind, retiredAt }) => !names.has(name) && kind !== "service" && retiredAt === null);
  return [...members, ...others.map(({ name, displayName, kind }) => ({ name, displayName, kind, note: "not in this space" }))];
}
