/**
 * The inbox of an entity: those items that a filter lets through, in order of arrival, or in the reverse order with
 * `newestFirst`. New items come through the feed; `complete`, `discard` and `replay` change the state of an item here
 * and, where that fails, change it back.
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
  /** The cursor of the next page; null after the last one. */
  #next: string | null = null;

  constructor(client: GatepostClient, name: string, options: InboxOptions = {}) {
    const { feed, ...filter } = options;
    super(feed ?? new Feed((streamOptions) => client.watchInbox({ name }, streamOptions)), INITIAL);
    this.#client = client;
    this.#request = { ...filter, name };
  }

  /** Load the next page. */
  async loadMore(): Promise<void> {
    if (this.#next === null) return;
    const page = await this.#client.listInbox({ ...this.#request, after: this.#next });
    this.#next = page.next;
    this.#setItems([...this.state.items, ...page.items]);
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
    const limit = Math.min(MAX_LIMIT, Math.max(this.#request.limit ?? DEFAULT_LIMIT, this.state.items.length));
    const page = await this.#client.listInbox({ ...this.#request, limit }, { signal });
    this.#next = page.next;
    this.#setItems(page.items);
  }

  protected override receive({ event, data }: GatepostEvent): void {
    if (event !== "inbox.item" || data.recipient !== this.#request.name || !matches(data, this.#request)) return;
    if (this.#request.newestFirst) this.#setItems([data, ...this.state.items]);
    // It is at the end, or on a page that is not loaded yet.
    else if (this.#next === null) this.#setItems([...this.state.items, data]);
  }

  async #change(
    eventId: string,
    state: ItemState | undefined,
    operation: (request: { id: string; name: string }) => Promise<Items>,
  ): Promise<void> {
    const before = this.state.items.find((item) => item.eventId === eventId);
    if (before !== undefined && state !== undefined) this.#replaceItem({ ...before, state });
    try {
      const { items } = await operation.call(this.#client, { id: eventId, name: this.#request.name });
      for (const item of items) this.#replaceItem(item);
    } catch (error) {
      if (before !== undefined) this.#replaceItem(before);
      throw error;
    }
  }

  #replaceItem(item: Item): void {
    const replace = (other: Item) => (other.eventId === item.eventId ? item : other);
    this.update({ items: this.state.items.map(replace) });
  }

  /** Items that come twice are shown once. */
  #setItems(items: readonly Item[]): void {
    const byId = new Map<string, Item>();
    for (const item of items) if (!byId.has(item.eventId)) byId.set(item.eventId, item);
    this.update({ items: [...byId.values()], hasMore: this.#next !== null });
  }
}

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
