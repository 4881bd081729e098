/** The inbox of a person, or of any agent: a list, the item that is read, and what can be done with it. */

import "./inbox.css";
import "../decisions/decisions.css";

import { Feed, InboxStore, type EventType, type InboxOptions, type Item, type ItemState, type ListInbox } from "@gatepost/client";
import { useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { feed } from "../data/feed.js";
import { displayName, entities, findEntity, refreshAccount } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client, isAdministrator, me, noticeFailure } from "../data/session.js";
import { closeWhileHidden } from "../data/shared-stream.js";
import { useStore } from "../data/store.js";
import { buildPath, changeQuery, keepQuery, navigate, query, segments } from "../router.js";
import { useSubject } from "../title.js";
import { Icon } from "../ui/icons.js";
import { Empty, Failure, Skeleton } from "../ui/parts.js";
import { plural, toLine } from "../ui/text.js";
import { attempt, showToast } from "../ui/toasts.js";
import { VirtualList } from "../ui/virtual-list.js";
import { canReply, describeState, describeType, EVENT_TYPES, ITEM_STATES } from "./describe.js";
import { BackButton, focusReply, ItemDetail } from "./detail.js";
import { PushDialog } from "./push-dialog.js";
import { ItemRow, ROW_HEIGHT } from "./row.js";

type InboxFilter = Pick<ListInbox, "state" | "type" | "sender" | "text">;

/** Items of the first page, and of the others. */
const FIRST_PAGE = 200;
const NEXT_PAGE = 1000;
/** Milliseconds in which items that come are counted together. */
const COUNT_DELAY = 300;

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
  useEffect(() => onArrival(source, name, countAgain), [source]);
  const isPerson = (findEntity(name)?.kind ?? "human") === "human";
  const openId = segments.value[2];
  const [cursor, setCursor] = useState(0);
  const openIndex = items.findIndex((item) => item.eventId === openId);
  const index = openIndex >= 0 ? openIndex : Math.min(cursor, items.length - 1);
  useSubject(name === me.value ? undefined : displayName(name));
  const [isPushing, setPushing] = useState(false);
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
  const act = async (item: Item | undefined, action: "complete" | "discard" | "replay", done: string) => {
    if (item === undefined) return;
    const before = store.state.items;
    const position = before.indexOf(item);
    const following = before[position + 1] ?? before[position - 1];
    const send = async (how: typeof action) => {
      await store[how](item.eventId);
      countAgain();
      void refreshAccount();
    };
    const pending = send(action);
    if (openId === item.eventId && !store.state.items.some(({ eventId }) => eventId === openId) && following && filter.state !== undefined) open(following);
    setCursor(Math.max(0, position));
    const undo = action === "discard" ? () => void attempt(() => send("replay")) : undefined;
    if (await attempt(() => pending)) showToast(done, undo ? { undo } : {});
  };
  // As the store has it: a second key may come before the first one is drawn.
  const findCurrent = () => {
    const current = store.state.items;
    return current.find(({ eventId }) => eventId === openId) ?? current[Math.min(cursor, current.length - 1)];
  };
  const item = items[index];
  useCommands([
    { id: "next", title: "Next item", group: "Inbox", keys: "j", run: () => select(index + 1), isKeyOnly: true },
    { id: "previous", title: "Previous item", group: "Inbox", keys: "k", run: () => select(index - 1), isKeyOnly: true },
    { id: "open", title: "Open the item", group: "Inbox", keys: "Enter", run: () => item && open(item), isKeyOnly: true },
    { id: "close", title: "Back to the list", group: "Inbox", keys: "Escape", run: close, isKeyOnly: true },
    ...(isPerson ? [{ id: "done", title: "Mark as done", group: "Inbox", keys: "e", run: () => void act(findCurrent(), "complete", "Done") }] : []),
    { id: "reply", title: "Reply", group: "Inbox", keys: "r", run: () => item && reply(item) },
    { id: "discard", title: "Discard", group: "Inbox", keys: "#", run: () => void act(findCurrent(), "discard", "Discarded") },
    { id: "replay", title: "Replay: make it pending again", group: "Inbox", keys: "z", run: () => void act(findCurrent(), "replay", "Pending again") },
    { id: "push", title: "Push an event by hand", group: "Inbox", keys: "c", run: () => setPushing(true) },
    ...ITEM_STATES.map((state) => ({ id: `state-${state}`, title: `Show ${describeState(state, isPerson)} items`, group: "Inbox", run: () => changeQuery({ state }) })),
  ]);

  return (
    <div class={`inbox split ${openId === undefined ? "" : "has-detail"}`}>
      <section class="inbox-list pane" aria-label="Items">
        <InboxHead name={name} isPerson={isPerson} filter={filter} revision={revision} onPush={() => setPushing(true)} />
        <div class="fill">
          {isLoading ? (
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
                <ItemRow item={row} href={keepQuery(buildPath("inbox", name, row.eventId))} isSelected={position === index} isPerson={isPerson} showState={filter.state === undefined} onSelect={() => setCursor(position)} />
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
        />
      )}
      {isPushing && <PushDialog to={name} onClose={() => setPushing(false)} />}
    </div>
  );
}

const STATE_TABS: Partial<Record<ItemState, string>> = { pending: "Pending", dead: "Dead" };

interface PaneProps {
  id: string;
  name: string;
  listed: Item | undefined;
  isPerson: boolean;
  isReplying: boolean;
  onReplying: (isReplying: boolean) => void;
  onClose: () => void;
  onAct: (item: Item, action: "complete" | "discard" | "replay", done: string) => void;
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

interface HeadProps {
  name: string;
  isPerson: boolean;
  filter: InboxFilter;
  revision: number;
  onPush: () => void;
}

function InboxHead({ name, isPerson, filter, revision, onPush }: HeadProps) {
  const [isFiltering, setFiltering] = useState(filter.type !== undefined || filter.sender !== undefined || filter.text !== undefined);
  const words = useRef<HTMLInputElement>(null);
  const search = () => {
    setFiltering(true);
    // The field may be about to appear.
    requestAnimationFrame(() => words.current?.focus());
  };
  useCommands([{ id: "search", title: "Search the items", group: "Inbox", keys: "f", run: search }]);
  const { value: account, reload } = useLoad((signal) => client.showAccount({ name }, { signal }), [name, filter.state ?? ""]);
  useEffect(() => {
    if (revision > 0) reload();
  }, [revision]);
  const shown: readonly ItemState[] = ["pending", "delivered", "dead"];
  return (
    <>
      <header class="view-head inbox-head">
        <h1 class="visually-hidden">Inbox of {toLine(displayName(name), 60)}</h1>
        <select class="field inbox-who strong" aria-label="Whose inbox" value={name} onChange={(event) => navigate(event.currentTarget.value === me.value ? "/inbox" : buildPath("inbox", event.currentTarget.value))}>
          <option value={me.value}>Your inbox</option>
          {entities.value
            .filter((entity) => isAdministrator.value && entity.name !== me.value && entity.kind !== "service")
            .map((entity) => (
              <option key={entity.name} value={entity.name}>
                {toLine(displayName(entity.name), 80)}
              </option>
            ))}
        </select>
        <span class="grow" />
        <button class="icon-button" aria-label="Filter" title="Filter (f)" aria-pressed={isFiltering} onClick={() => (isFiltering ? setFiltering(false) : search())}>
          <Icon name="search" />
        </button>
        <button class="icon-button" aria-label="Push an event" title="Push an event (c)" onClick={onPush}>
          <Icon name="plus" />
        </button>
      </header>
      <nav class="tabs view-bar" aria-label="State">
        {shown.map((state) => (
          <button key={state} class="tab" aria-current={filter.state === state ? "page" : undefined} onClick={() => changeQuery({ state: state === "pending" ? undefined : state })}>
            {STATE_TABS[state] ?? (isPerson ? "Done" : "Delivered")}
            {account && <span class="number">{account[state as "pending" | "delivered" | "dead"].toLocaleString("en")}</span>}
          </button>
        ))}
        <select class="tab state-select" aria-label="Other states" value={shown.includes(filter.state ?? "pending") && filter.state !== undefined ? "" : (filter.state ?? "all")} onChange={(event) => changeQuery({ state: event.currentTarget.value || undefined })}>
          <option value="">More</option>
          <option value="all">all states</option>
          <option value="claimed">claimed</option>
          <option value="expired">expired</option>
          <option value="discarded">discarded</option>
        </select>
      </nav>
      {isFiltering && (
        <div class="inbox-filters columns gap-2 view-bar">
          <input
            ref={words}
            class="field"
            type="search"
            placeholder="Search subject and text"
            aria-label="Words"
            value={filter.text ?? ""}
            onChange={(event) => changeQuery({ text: event.currentTarget.value })}
            onKeyDown={(event) => {
              if (event.key !== "Escape") return;
              event.preventDefault(); // the browser would empty it, and the list with it
              event.currentTarget.blur();
            }}
          />
          <select class="field" aria-label="Type" value={filter.type ?? ""} onChange={(event) => changeQuery({ type: event.currentTarget.value })}>
            <option value="">every type</option>
            {EVENT_TYPES.map((type) => (
              <option key={type} value={type}>
                {describeType(type)}
              </option>
            ))}
          </select>
          <select class="field" aria-label="Sender" value={filter.sender ?? ""} onChange={(event) => changeQuery({ sender: event.currentTarget.value })}>
            <option value="">every sender</option>
            {entities.value.map((entity) => (
              <option key={entity.name} value={entity.name}>
                {toLine(displayName(entity.name), 80)}
              </option>
            ))}
          </select>
        </div>
      )}
    </>
  );
}

function NoItems({ name, filter, onPush }: { name: string; filter: InboxFilter; onPush: () => void }) {
  const isFiltered = filter.type !== undefined || filter.sender !== undefined || filter.text !== undefined;
  if (isFiltered) {
    return (
      <Empty icon="search" title="No items match">
        <button class="button" onClick={() => changeQuery({ type: undefined, sender: undefined, text: undefined })}>
          Remove the filters
        </button>
      </Empty>
    );
  }
  if (filter.state === "dead") return <Empty icon="check" title="No dead items">{<p>An item that failed too often waits here until somebody replays it.</p>}</Empty>;
  if (filter.state !== "pending") return <Empty icon="inbox" title="No items in this state" />;
  return (
    <Empty icon="check" title={name === me.value ? "All done" : `${plural(0, "pending item")}`}>
      <p>Mail, alerts, answers and due plans come here. You can push an event by hand to see how it works.</p>
      <button class="button" onClick={onPush}>
        Push an event
      </button>
    </Empty>
  );
}

/** Pending items without another filter come the most urgent first, others the newest first. */
function chooseOrder({ state, type, sender, text }: InboxFilter): InboxOptions {
  const isFiltered = type !== undefined || sender !== undefined || text !== undefined;
  return state === "pending" && !isFiltered ? { mostUrgentFirst: true } : { newestFirst: true };
}

/** Call a function when items have come, and return the function that ends it. */
function onArrival(source: Feed, name: string, callback: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const unsubscribe = source.subscribe({
    onEvent: ({ event, data }) => {
      if (event !== "inbox.item" || data.recipient !== name) return;
      clearTimeout(timer);
      timer = setTimeout(callback, COUNT_DELAY);
    },
    onStatus: () => undefined,
  });
  return () => {
    clearTimeout(timer);
    unsubscribe();
  };
}

function readFilter(): InboxFilter {
  const values = query.value;
  const state = values.get("state") ?? "pending";
  const type = values.get("type");
  return {
    ...(state === "all" ? {} : { state: state as ItemState }),
    ...(type ? { type: type as EventType } : {}),
    ...(values.get("sender") ? { sender: values.get("sender") ?? "" } : {}),
    ...(values.get("text") ? { text: values.get("text") ?? "" } : {}),
  };
}
