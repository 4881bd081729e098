/**
 * The inbox of an entity: the pending items, or those that a filter lets through, in order of arrival, in the reverse order
 * (`newestFirst`), or in the order in which they are to be read (`mostUrgentFirst`). New items come through the feed.
 *
 * `complete`, `discard` and `replay` change an item here at once; an item whose state the filter does not let through
 * any more goes. Such a change lies over what the gateway said of the item, until the gateway has answered and no load
 * is under way that was asked for before. If the gateway refuses, the change is taken away, what the gateway said
 * meanwhile is there, in its place, and the inbox is loaded again: somebody else has changed the item.
 *
 * `completeMany`, `discardMany`, `snooze` and `unsnooze` change many items, in the same way: those that are named, or all
 * that a filter lets through, also such as are not loaded. `undo` takes back what `completeMany` did. What somebody else
 * changes is loaded when the feed says so.
 */

import type { GatepostClient, Page } from "../client.js";
import { GatepostError } from "../errors.js";
import type { GatepostEvent } from "../events.js";
import { Feed } from "../feed.js";
import type { Item, Items, ItemState, ListInbox, Matching, SnoozeItems, Triage } from "../models.js";
import type { CallOptions } from "../options.js";
import { ListStore, type ListState, type PageRequest } from "./list.js";

/** Items in order of arrival, or as the options say. */
export type InboxState = ListState<Item>;

export interface InboxOptions extends Omit<ListInbox, "name" | "after" | "state"> {
  /** Only items in this state; by default those that are pending. */
  state?: ItemState | "all";
  /** The pending items in the order in which they are to be read, the most urgent first; no other filter applies. */
  mostUrgentFirst?: boolean;
  /** The feed of the page, which must have this inbox; without it, the store opens the stream of the inbox. */
  feed?: Feed;
}

/** Some items of an inbox: these, or all that a filter lets through. */
export type ItemSelection = { events: string[] } | { matching: Matching };

/** Until when items are hidden: one of the first two, or an event, or both. */
export type SnoozeTerms = Pick<SnoozeItems, "until" | "within" | "awaits">;

/** Returns what becomes of an item. */
type Change = (item: Item) => Item;

export class InboxStore extends ListStore<Item> {
  readonly #client: GatepostClient;
  readonly #name: string;
  readonly #isByUrgency: boolean;
  readonly #filter: Omit<ListInbox, "name" | "after" | "limit">;
  /** What was changed here, in order. */
  readonly #changes = new Set<Change>();
  /** Changes of this store that the feed has still to tell of. */
  #ownChanges = 0;

  constructor(client: GatepostClient, name: string, options: InboxOptions = {}) {
    const { feed, limit, mostUrgentFirst = false, state = "pending", ...filter } = options;
    super(feed ?? new Feed((streamOptions) => client.watchInbox({ name }, streamOptions)), limit);
    this.#client = client;
    this.#name = name;
    this.#isByUrgency = mostUrgentFirst;
    this.#filter = mostUrgentFirst ? { state: "pending", hidden: false } : state === "all" ? filter : { ...filter, state };
  }

  /** Mark an item of a person as done. */
  complete(eventId: string): Promise<void> {
    return this.#change(eventId, () => "delivered", this.#client.markDone);
  }

  /** Discard a pending or dead item. */
  discard(eventId: string): Promise<void> {
    return this.#change(eventId, () => "discarded", this.#client.discardEvent);
  }

  /** Make a dead, expired or discarded item pending again; a delivered one stays as it is, and comes as a new event. */
  replay(eventId: string): Promise<void> {
    const replayState = (state: ItemState) => (state === "delivered" ? state : "pending");
    return this.#change(eventId, replayState, this.#client.replayEvent);
  }

  /** Mark items of a person as done; return the receipts, for `undo`. */
  async completeMany(selection: ItemSelection): Promise<string[]> {
    const receipts: string[] = [];
    await this.#changeMany(selection, (item) => ({ ...item, state: "delivered" }), async (request) => {
      const result = await this.#client.completeItems(request);
      if (result.receipt !== undefined) receipts.push(result.receipt);
      return result;
    });
    return receipts;
  }

  /** Make items pending again that were done less than 10 seconds ago: all of some receipts, or single ones. */
  async undo(done: { receipts: readonly string[] } | { events: string[] }): Promise<void> {
    const requests = "events" in done ? [done] : done.receipts.map((receipt) => ({ receipt }));
    try {
      for (const request of requests) await this.#client.undoDone({ name: this.#name, ...request });
    } finally {
      await this.refresh();
    }
  }

  /** Discard items; questions stay. Return how many were discarded. */
  discardMany(selection: ItemSelection): Promise<number> {
    const discard: Change = (item) => (item.type === "decision" ? item : { ...item, state: "discarded" });
    return this.#changeMany(selection, discard, (request) => this.#client.discardItems(request));
  }

  /** Hide pending items until a time or an event. Return how many were hidden. */
  snooze(selection: ItemSelection, terms: SnoozeTerms): Promise<number> {
    const hide: Change = (item) => ({ ...item, hiddenUntil: terms.until ?? FAR });
    return this.#changeMany(selection, hide, (request) => this.#client.snoozeItems({ ...request, ...terms }));
  }

  /** Show snoozed items again. Return how many were shown. */
  unsnooze(selection: ItemSelection): Promise<number> {
    const show: Change = ({ hiddenUntil: _, awaits: __, ...item }) => item;
    return this.#changeMany(selection, show, (request) => this.#client.unsnoozeItems(request));
  }

  protected override loadPage(page: PageRequest, options?: CallOptions): Promise<Page<Item>> {
    if (this.#isByUrgency) return this.#client.peekInbox({ name: this.#name, ...page }, options);
    return this.#client.listInbox({ ...this.#filter, name: this.#name, ...page }, options);
  }

  protected override identify(item: Item): string {
    return item.eventId;
  }

  protected override receive({ event, data }: GatepostEvent): void {
    if (event === "inbox.changed" && data.recipient === this.#name) {
      if (this.#ownChanges > 0) this.#ownChanges -= 1;
      else void this.refresh();
    }
    if (event !== "inbox.item" || data.recipient !== this.#name || !matches(data, this.#filter)) return;
    // What was loaded is not older than the event, which was sent when the item was new.
    if (this.items.some((item) => item.eventId === data.eventId)) return;
    const isAfter = (item: Item) => this.#filter.newestFirst || (this.#isByUrgency && item.priority > data.priority);
    const index = this.items.findIndex(isAfter);
    if (index >= 0) this.setItems(this.items.toSpliced(index, 0, data));
    // It is at the end, or on a page that is not loaded yet.
    else if (!this.state.hasMore) this.setItems([...this.items, data]);
  }

  protected override present(items: readonly Item[]): readonly Item[] {
    for (const change of this.#changes) items = items.map(change);
    return items.filter((item) => this.#letsThrough(item));
  }

  #letsThrough(item: Item): boolean {
    const { state, hidden } = this.#filter;
    return (state === undefined || state === item.state) && (typeof hidden !== "boolean" || hidden === isHidden(item));
  }

  async #changeMany(
    selection: ItemSelection,
    alter: Change,
    operation: (request: { name: string } & ItemSelection) => Promise<Triage>,
  ): Promise<number> {
    const events = "events" in selection ? new Set(selection.events) : undefined;
    const isMeant = (item: Item) =>
      "matching" in selection
        ? matches(item, { hidden: false, state: "pending", ...dropNulls(selection.matching) })
        : events?.has(item.eventId);
    const change: Change = (item) => (isMeant(item) ? alter(item) : item);
    this.#changes.add(change);
    this.show();
    let count = 0;
    try {
      const parts = "events" in selection ? split(selection.events) : [selection];
      for (const part of parts) {
        for (let hasMore = true; hasMore; ) {
          this.#ownChanges += 1;
          const result = await operation({ ...part, name: this.#name });
          count += result.count;
          hasMore = result.more;
        }
      }
      this.afterLoads(() => {
        this.#changes.delete(change);
        this.setItems(this.items.map(change));
      });
    } catch (error) {
      this.#ownChanges = 0;
      this.#changes.delete(change);
      this.show();
      void this.refresh();
      throw error;
    }
    return count;
  }

  async #change(
    eventId: string,
    changeState: (state: ItemState) => ItemState,
    operation: (request: { id: string; name: string }) => Promise<Items>,
  ): Promise<void> {
    const change: Change = (item) => (item.eventId === eventId ? { ...item, state: changeState(item.state) } : item);
    this.#changes.add(change);
    this.#ownChanges += 1;
    this.show();
    try {
      const { items } = await operation.call(this.#client, { id: eventId, name: this.#name });
      this.#confirm(items);
    } catch (error) {
      this.#ownChanges = 0;
      if (error instanceof GatepostError && error.status !== 0) void this.refresh();
      throw error;
    } finally {
      this.#changes.delete(change);
      this.show();
    }
  }

  /** Apply what the gateway has changed, also to what the loads under way will bring. */
  #confirm(changed: readonly Item[]): void {
    const change: Change = (item) => changed.find((other) => other.eventId === item.eventId) ?? item;
    this.#changes.add(change);
    this.afterLoads(() => {
      this.#changes.delete(change);
      this.setItems(this.items.map(change));
    });
    const isListed = ({ eventId }: Item) => this.items.some((item) => item.eventId === eventId);
    if (changed.some((item) => this.#letsThrough(item) && !isListed(item))) void this.refresh();
  }
}

/** After every time at which a snoozed item may return. */
const FAR = "9999";
/** Items that one request names. */
const MAX_EVENTS = 1000;

function isHidden({ state, hiddenUntil }: Item): boolean {
  return state === "pending" && hiddenUntil !== undefined && Date.parse(hiddenUntil) > Date.now();
}

function split(events: readonly string[]): { events: string[] }[] {
  const count = Math.ceil(events.length / MAX_EVENTS);
  return Array.from({ length: count }, (_, part) => ({ events: events.slice(part * MAX_EVENTS, (part + 1) * MAX_EVENTS) }));
}

function dropNulls(filter: Matching): Omit<ListInbox, "name"> {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== null));
}

function matches(item: Item, filter: Omit<ListInbox, "name">): boolean {
  const { state, type, messageType, priority, sender, ref, channel, origin, hidden, text, until } = filter;
  const words = `${item.subject ?? ""}\n${item.content}`.toLowerCase();
  return (
    (state === undefined || item.state === state) &&
    (type === undefined || item.type === type) &&
    (messageType === undefined || (item.type === "mail" && readMessageType(item) === messageType)) &&
    (priority === undefined || item.priority === priority) &&
    (sender === undefined || item.sender === sender) &&
    (ref === undefined || (item.ref !== null && `${item.ref.type}:${item.ref.id}` === ref)) &&
    (channel === undefined || item.route?.channel === channel) &&
    (origin === undefined || origin === null || (item.sender ?? item.source) === origin) &&
    (typeof hidden !== "boolean" || hidden === isHidden(item)) &&
    (text === undefined || words.includes(text.toLowerCase())) &&
    (until === undefined || Date.parse(item.createdAt) < Date.parse(until))
  );
}

/** Return the type of mail; mail whose sender gave it none is a message. */
function readMessageType({ data }: Item): unknown {
  return (data as { messageType?: unknown } | null)?.messageType ?? "message";
}
