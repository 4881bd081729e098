/**
 * The inbox of an entity: those items that a filter lets through, in order of arrival, or in the reverse order with
 * `newestFirst`. New items come through the feed.
 *
 * `complete`, `discard` and `replay` change an item here at once. Such a change lies over what the gateway said of the
 * item, until the gateway has answered and no load is under way that was asked for before; if the gateway refuses, it
 * is taken away, and what the gateway said meanwhile is there.
 */

import type { GatepostClient } from "../client.js";
import type { GatepostEvent } from "../events.js";
import { Feed } from "../feed.js";
import type { Item, Items, ItemState, ListInbox } from "../models.js";
import { INITIAL_STATE, Store, type StoreState } from "./store.js";

export interface InboxState extends StoreState {
  /** Items in order of arrival; with `newestFirst`, the last arrival first. */
  items: readonly Item[];
  /** Whether there are more items, which are not loaded. */
  hasMore: boolean;
}

export interface InboxOptions extends Omit<ListInbox, "name" | "after"> {
  /** The feed of the page, which must have this inbox; without it, the store opens the stream of the inbox. */
  feed?: Feed;
}

const DEFAULT_LIMIT = 100;
/** What the gateway gives at once. */
const MAX_LIMIT = 1000;
const INITIAL: InboxState = { ...INITIAL_STATE, items: [], hasMore: false };

export class InboxStore extends Store<InboxState> {
  readonly #client: GatepostClient;
  readonly #request: ListInbox;
  /** Items as the gateway said last. */
  #items: readonly Item[] = [];
  /** What was changed here, in order. */
  readonly #changes = new Set<Change>();
  /** The cursor of the next page; null after the last one. */
  #next: string | null = null;
  #nextPage: Promise<void> | undefined;

  constructor(client: GatepostClient, name: string, options: InboxOptions = {}) {
    const { feed, ...filter } = options;
    super(feed ?? new Feed((streamOptions) => client.watchInbox({ name }, streamOptions)), INITIAL);
    this.#client = client;
    this.#request = { ...filter, name };
  }

  /** Load the next page; a second call waits for the first. */
  loadMore(): Promise<void> {
    this.#nextPage ??= this.#loadNextPage().finally(() => (this.#nextPage = undefined));
    return this.#nextPage;
  }

  async #loadNextPage(): Promise<void> {
    while (this.#next !== null) {
      const after = this.#next;
      const page = await this.#client.listInbox({ ...this.#request, after });
      if (after !== this.#next) continue; // the list was loaded again, and goes on from elsewhere
      this.#next = page.next;
      this.#setItems([...this.#items, ...page.items]);
      return;
    }
  }

  /** Mark an item of a person as done. */
  complete(eventId: string): Promise<void> {
    return this.#change(eventId, "delivered", this.#client.markDone);
  }

  /** Discard a pending or dead item. */
  discard(eventId: string): Promise<void> {
    return this.#change(eventId, "discarded", this.#client.discardEvent);
  }

  /** Make a dead, expired or discarded item pending again; a delivered one comes as a new event. */
  replay(eventId: string): Promise<void> {
    return this.#change(eventId, undefined, this.#client.replayEvent);
  }

  protected override async load(signal: AbortSignal): Promise<void> {
    // As many as are shown now, so that a list that was scrolled stays as long.
    const limit = Math.min(MAX_LIMIT, Math.max(this.#request.limit ?? DEFAULT_LIMIT, this.#items.length));
    const page = await this.#client.listInbox({ ...this.#request, limit }, { signal });
    this.#next = page.next;
    this.#setItems(page.items);
  }

  protected override receive({ event, data }: GatepostEvent): void {
    if (event !== "inbox.item" || data.recipient !== this.#request.name || !matches(data, this.#request)) return;
    // What was loaded is not older than the event, which was sent when the item was new.
    if (this.#items.some((item) => item.eventId === data.eventId)) return;
    if (this.#request.newestFirst) this.#setItems([data, ...this.#items]);
    // It is at the end, or on a page that is not loaded yet.
    else if (this.#next === null) this.#setItems([...this.#items, data]);
  }

  async #change(
    eventId: string,
    state: ItemState | undefined,
    operation: (request: { id: string; name: string }) => Promise<Items>,
  ): Promise<void> {
    const change: Change = (item) => (item.eventId === eventId && state !== undefined ? { ...item, state } : item);
    this.#changes.add(change);
    this.#show();
    try {
      const { items } = await operation.call(this.#client, { id: eventId, name: this.#request.name });
      this.#confirm((item) => items.find((other) => other.eventId === item.eventId) ?? item);
    } finally {
      this.#changes.delete(change);
      this.#show();
    }
  }

  /** Apply a change that the gateway has made, also to what the loads under way will bring. */
  #confirm(change: Change): void {
    this.#changes.add(change);
    this.afterLoads(() => {
      this.#changes.delete(change);
      this.#items = this.#items.map(change);
      this.#show();
    });
  }

  /** Items that come twice are shown once. */
  #setItems(items: readonly Item[]): void {
    const byId = new Map<string, Item>();
    for (const item of items) if (!byId.has(item.eventId)) byId.set(item.eventId, item);
    this.#items = [...byId.values()];
    this.#show();
  }

  #show(): void {
    let items = this.#items;
    for (const change of this.#changes) items = items.map(change);
    this.update({ items, hasMore: this.#next !== null });
  }
}

/** Returns what becomes of an item. */
type Change = (item: Item) => Item;

function matches(item: Item, filter: ListInbox): boolean {
  const { state, type, priority, sender, ref, channel, text, until } = filter;
  const words = `${item.subject ?? ""}\n${item.content}`.toLowerCase();
  return (
    (state === undefined || item.state === state) &&
    (type === undefined || item.type === type) &&
    (priority === undefined || item.priority === priority) &&
    (sender === undefined || item.sender === sender) &&
    (ref === undefined || (item.ref !== null && `${item.ref.type}:${item.ref.id}` === ref)) &&
    (channel === undefined || item.route?.channel === channel) &&
    (text === undefined || words.includes(text.toLowerCase())) &&
    until === undefined
  );
}
