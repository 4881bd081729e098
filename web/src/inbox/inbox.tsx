/** The inbox of a person, or of any agent: a list, the item that is read, and what can be done with it. */

import "./inbox.css";
import "../decisions/decisions.css";

import { Feed, InboxStore, type Item, type ItemSelection } from "@gatepost/client";
import { useEffect, useMemo, useReducer, useState } from "preact/hooks";

import { useCommands, type Command } from "../commands.js";
import { feed, follow } from "../data/feed.js";
import { displayName, findEntity, isAboutInbox, refreshAccount } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client, me, noticeFailure } from "../data/session.js";
import { closeWhileHidden } from "../data/shared-stream.js";
import { useStore } from "../data/store.js";
import { buildPath, changeQuery, keepQuery, navigate, query, segments } from "../router.js";
import { useSubject } from "../title.js";
import { Empty, Failure, Skeleton } from "../ui/parts.js";
import { attempt, showToast } from "../ui/toasts.js";
import { VirtualList } from "../ui/virtual-list.js";
import { canReply, describeState, ITEM_STATES } from "./describe.js";
import { BackButton, focusReply, ItemDetail } from "./detail.js";
import { chooseOrder, readFilter } from "./filter.js";
import { Groups } from "./groups.js";
import { InboxHead, NoItems } from "./head.js";
import { PushDialog } from "./push-dialog.js";
import { ItemRow, ROW_HEIGHT } from "./row.js";
import { SnoozeDialog } from "./snooze-dialog.js";
import { useTriage, type Action } from "./triage.js";
import { TriageBar } from "./triage-bar.js";

/** Items of the first page, and of the others. */
const FIRST_PAGE = 200;
const NEXT_PAGE = 1000;

export default function Inbox() {
  const name = segments.value[1] ?? me.value;
  return <InboxOf key={name} name={name} />;
}

function InboxOf({ name }: { name: string }) {
  const filter = readFilter();
  const key = JSON.stringify(filter);
  const source = useMemo(() => (name === me.value ? feed : new Feed(closeWhileHidden((options) => client.watchInbox({ name }, options)))), [name]);
  const store = useMemo(() => new InboxStore(client, name, { ...filter, state: filter.state ?? "all", ...chooseOrder(filter), feed: source, limit: FIRST_PAGE }), [source, key]);
  const { items, isLoading, error } = useStore(store);
  const [revision, countAgain] = useReducer((old: number, _: void) => old + 1, 0);
  useEffect(() => follow((event) => isAboutInbox(event, name), countAgain, source), [source]);
  const isPerson = (findEntity(name)?.kind ?? "human") === "human";
  const openId = segments.value[2];
  const [cursor, setCursor] = useState(0);
  const openIndex = items.findIndex((item) => item.eventId === openId);
  const index = openIndex >= 0 ? openIndex : Math.min(cursor, items.length - 1);
  useSubject(name === me.value ? undefined : displayName(name));
  const [isPushing, setPushing] = useState(false);
  /** What the dialog of times is about. */
  const [snoozed, setSnoozed] = useState<{ selection: ItemSelection; count: number; item: Item | undefined } | undefined>(undefined);
  const triage = useTriage(store, name, filter, countAgain);
  const isSnoozed = filter.hidden === true;
  const isGrouped = query.value.get("view") === "alike" && filter.state === "pending";
  /** The item that a reply is written to. */
  const [repliedTo, setRepliedTo] = useState<string | undefined>(undefined);

  const select = (next: number) => {
    const position = Math.max(0, Math.min(items.length - 1, next));
    const item = items[position];
    setCursor(position);
    if (item && openId !== undefined) open(item);
  };
  const open = (item: Item) => navigate(keepQuery(buildPath("inbox", name, item.eventId)), { replace: openId !== undefined });
  const reply = (item: Item) => {
    open(item);
    if (canReply(item) && repliedTo === item.eventId) focusReply();
    else if (canReply(item)) setRepliedTo(item.eventId);
    else showToast(item.type === "decision" ? "Answer the decision itself" : "Nobody waits for a reply to this");
  };
  const close = () => navigate(keepQuery(name === me.value ? "/inbox" : buildPath("inbox", name)));
  const act = async (item: Item | undefined, action: Action, done: string) => {
    if (item === undefined) return;
    const before = store.state.items;
    const position = before.indexOf(item);
    const following = before[position + 1] ?? before[position - 1];
    const count = async (change: Promise<unknown>) => {
      await change;
      countAgain();
      void refreshAccount();
    };
    const pending = count(action === "unsnooze" ? store.unsnooze({ events: [item.eventId] }) : store[action](item.eventId));
    if (openId === item.eventId && !store.state.items.some(({ eventId }) => eventId === openId) && following && filter.state !== undefined) open(following);
    setCursor(Math.max(0, position));
    const undos: Partial<Record<Action, () => Promise<void>>> = { discard: () => store.replay(item.eventId), complete: () => store.undo({ events: [item.eventId] }) };
    const undo = undos[action];
    if (await attempt(() => pending)) showToast(done, undo ? { undo: () => void attempt(() => count(undo())) } : {});
  };
  /** Do something with what is marked, else with the item of the moment. */
  const actOnMarked = (action: "complete" | "discard", done: string) => (triage.selection ? void triage[action](triage.selection, triage.count) : void act(findCurrent(), action, done));
  const snooze = (item = findCurrent()) => {
    const selection = triage.selection ?? (item && { events: [item.eventId] });
    if (selection === undefined) return;
    if (isSnoozed) void triage.unsnooze(selection);
    else setSnoozed({ selection, count: triage.count || 1, item: triage.selection === undefined ? item : undefined });
  };
  const mark = (step: -1 | 1) => {
    const item = findCurrent();
    if (item === undefined) return;
    triage.toggle(item, true);
    const following = items[index + step];
    if (following !== undefined) triage.toggle(following, true);
    select(index + step);
  };
  // As the store has it: a second key may come before the first one is drawn.
  const findCurrent = () => {
    const current = store.state.items;
    return current.find(({ eventId }) => eventId === openId) ?? current[Math.min(cursor, current.length - 1)];
  };
  const item = items[index];
  const commands: Command[] = [
    { id: "group", title: isGrouped ? "Show each item" : "Group similar", group: "Inbox", keys: "a", run: () => changeQuery({ view: isGrouped ? undefined : "alike" }) },
    { id: "push", title: "Push an event by hand", group: "Inbox", keys: "c", run: () => setPushing(true) },
    ...ITEM_STATES.map((state) => ({ id: `state-${state}`, title: `Show ${describeState(state, isPerson)} items`, group: "Inbox", run: () => changeQuery({ state }) })),
    { id: "state-snoozed", title: "Show snoozed items", group: "Inbox", run: () => changeQuery({ state: "snoozed" }) },
  ];
  const itemCommands: Command[] = [
    { id: "next", title: "Next item", group: "Inbox", keys: "j", run: () => select(index + 1), isKeyOnly: true },
    { id: "previous", title: "Previous item", group: "Inbox", keys: "k", run: () => select(index - 1), isKeyOnly: true },
    { id: "open", title: "Open the item", group: "Inbox", keys: "Enter", run: () => item && open(item), isKeyOnly: true },
    { id: "close", title: "Back to the list", group: "Inbox", keys: "Escape", run: () => (triage.selection === undefined ? close() : triage.clear()), isKeyOnly: true },
    { id: "mark", title: "Mark the item", group: "Inbox", keys: "x", run: () => item && triage.toggle(item) },
    { id: "mark-next", title: "Mark it and the next one", group: "Inbox", keys: "J", run: () => mark(1) },
    { id: "mark-previous", title: "Mark it and the previous one", group: "Inbox", keys: "K", run: () => mark(-1) },
    { id: "mark-all", title: "Mark all that match", group: "Inbox", keys: "*", run: () => void triage.markAll() },
    { id: "snooze", title: isSnoozed ? "Show it again" : "Snooze", group: "Inbox", keys: "h", run: () => snooze() },
    ...(isPerson ? [{ id: "done", title: "Mark as done", group: "Inbox", keys: "e", run: () => actOnMarked("complete", "Done") }] : []),
    { id: "reply", title: "Reply", group: "Inbox", keys: "r", run: () => item && reply(item) },
    { id: "discard", title: "Discard", group: "Inbox", keys: "#", run: () => actOnMarked("discard", "Discarded") },
    { id: "replay", title: "Replay: make it pending again", group: "Inbox", keys: "z", run: () => void act(findCurrent(), "replay", "Pending again") },
  ];
  // Groups have the same keys.
  useCommands(isGrouped ? commands : [...commands, ...itemCommands]);

  return (
    <div class={`inbox split ${openId === undefined ? "" : "has-detail"}`}>
      <section class="inbox-list pane" aria-label="Items">
        <InboxHead name={name} isPerson={isPerson} filter={filter} revision={revision} onPush={() => setPushing(true)} />
        <TriageBar triage={triage} isPerson={isPerson} isSnoozed={isSnoozed} onSnooze={() => snooze()} />
        <div class="fill">
          {isGrouped ? (
            <Groups
              name={name}
              filter={filter}
              isPerson={isPerson}
              revision={revision}
              onComplete={triage.complete}
              onDiscard={triage.discard}
              onSnooze={(selection, count) => setSnoozed({ selection, count, item: undefined })}
              onPush={() => setPushing(true)}
            />
          ) : isLoading ? (
            <Skeleton rows={12} />
          ) : error !== undefined && items.length === 0 ? (
            <Failure error={error} onRetry={() => void store.refresh()} />
          ) : items.length === 0 ? (
            <NoItems name={name} filter={filter} onPush={() => setPushing(true)} />
          ) : (
            <VirtualList
              items={items}
              rowHeight={ROW_HEIGHT}
              selectedIndex={index}
              onEnd={() => void store.loadMore(NEXT_PAGE).catch(noticeFailure)}
              label="Items"
              renderRow={(row, position) => (
                <ItemRow item={row} href={keepQuery(buildPath("inbox", name, row.eventId))} isSelected={position === index} isPerson={isPerson} showState={filter.state === undefined} onSelect={() => setCursor(position)} isMarked={triage.isMarked(row)} isMarking={triage.selection !== undefined} onMark={() => triage.toggle(row)} />
              )}
            />
          )}
        </div>
      </section>
      {openId !== undefined && (
        <ItemPane
          key={openId}
          id={openId}
          name={name}
          listed={items[openIndex]}
          isPerson={isPerson}
          isReplying={repliedTo === openId}
          onReplying={(isReplying) => setRepliedTo(isReplying ? openId : undefined)}
          onClose={close}
          onAct={(target, action, done) => void act(target, action, done)}
          onSnooze={snooze}
        />
      )}
      {snoozed !== undefined && (
        <SnoozeDialog
          count={snoozed.count}
          item={snoozed.item}
          isPerson={isPerson}
          onClose={() => setSnoozed(undefined)}
          onSnooze={(terms, until) => {
            setSnoozed(undefined);
            void triage.snooze(snoozed.selection, terms, until);
          }}
        />
      )}
      {isPushing && <PushDialog to={name} onClose={() => setPushing(false)} />}
    </div>
  );
}

interface PaneProps {
  id: string;
  name: string;
  listed: Item | undefined;
  isPerson: boolean;
  isReplying: boolean;
  onReplying: (isReplying: boolean) => void;
  onClose: () => void;
  onAct: (item: Item, action: Action, done: string) => void;
  onSnooze: (item: Item) => void;
}

/** An item of the list, or one that is only in the address. */
function ItemPane({ id, name, listed, ...others }: PaneProps) {
  const { value, error, reload } = useLoad((signal) => client.showEvent({ id }, { signal }), [id, listed?.state ?? ""]);
  const recipient = value?.recipients.find((other) => other.name === name);
  const item: Item | undefined = listed ?? (value && recipient ? { ...value, ...recipient, recipient: name } : undefined);
  useSubject(item && (item.subject ?? item.content));
  if (item === undefined) {
    return (
      <section class="inbox-detail" aria-label="Item">
        <header class="view-head">
          <BackButton onClick={others.onClose} />
        </header>
        {error ? <Failure error={error} onRetry={reload} /> : value ? <Empty icon="inbox" title="It is not in this inbox" /> : <Skeleton />}
      </section>
    );
  }
  return <ItemDetail item={item} recipients={value?.recipients ?? []} {...others} />;
}
