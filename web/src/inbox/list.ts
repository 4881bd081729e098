/**
 * The items of one inbox under a filter. Pending items without another filter come most urgent first, others the newest
 * first. New items come through the feed, and what is done here is shown at once and undone if it fails.
 *
 * A load may be answered by what the inbox was before a change, so changes are laid over every load that began before
 * they had ended.
 */

import { GatepostError, type GatepostEvent, type Item, type ItemPage, type Items, type ItemState, type ListInbox } from "@gatepost/client";
import { signal } from "@preact/signals";

import { FeedList, MAX_LENGTH } from "../data/feed-list.js";
import { refreshAccount } from "../data/live.js";
import { client } from "../data/session.js";

export type InboxFilter = Pick<ListInbox, "state" | "type" | "sender" | "text">;

/** An item as it is after a change that was made here. */
interface Change {
  item: Item;
  /** Whether the gateway has answered. */
  isDone: boolean;
}

const PAGE_LENGTH = 200;
/** Milliseconds in which items that come are counted together. */
const COUNT_DELAY = 300;

export class InboxList extends FeedList<Item> {
  /** Goes up when the numbers of the inbox have changed. */
  readonly revision = signal(0);
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #name: string;
  readonly #filter: InboxFilter;
  /** Changes that the last load may not have, by the event. */
  readonly #changes = new Map<string, Change>();

  constructor(name: string, filter: InboxFilter) {
    super();
    this.#name = name;
    this.#filter = filter;
  }

  get isByUrgency(): boolean {
    const { state, type, sender, text } = this.#filter;
    return state === "pending" && type === undefined && sender === undefined && text === undefined;
  }

  complete(item: Item): Promise<void> {
    return this.#change(item, "delivered", (request) => client.markDone(request));
  }

  discard(item: Item): Promise<void> {
    return this.#change(item, "discarded", (request) => client.discardEvent(request));
  }

  /** Make an item pending again; one that was delivered stays as it is, and comes as a new event. */
  replay(item: Item): Promise<void> {
    const state = item.state === "delivered" ? "delivered" : "pending";
    return this.#change(item, state, (request) => client.replayEvent(request));
  }

  /** As many items as are shown, up to a few pages. */
  protected override get firstLength(): number {
    return Math.min(MAX_LENGTH, Math.max(PAGE_LENGTH, this.items.value.length));
  }

  protected override load(after: string | undefined, limit: number): Promise<ItemPage> {
    if (after === undefined) for (const [id, { isDone }] of this.#changes) if (isDone) this.#changes.delete(id);
    if (this.isByUrgency) return client.peekInbox({ name: this.#name, after, limit });
    return client.listInbox({ ...this.#filter, name: this.#name, after, limit, newestFirst: true });
  }

  protected override showFirst(page: ItemPage): void {
    if (this.items.value.length > MAX_LENGTH) return;
    this.next = page.next;
    this.setItems(page.items);
  }

  protected override receive({ event, data }: GatepostEvent): void {
    if (event !== "inbox.item" || data.recipient !== this.#name) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.revision.value += 1), COUNT_DELAY);
    if (this.#changes.get(data.eventId)?.isDone) this.#changes.delete(data.eventId);
    if (!this.#matches(data)) return;
    this.setItems(this.isByUrgency ? insertByUrgency(this.items.value, data) : [data, ...this.items.value]);
  }

  async #change(item: Item, state: ItemState, send: (request: { id: string; name: string }) => Promise<Items>): Promise<void> {
    this.#changes.set(item.eventId, { item: { ...item, state }, isDone: false });
    this.setItems(this.items.value);
    try {
      const { items } = await send({ id: item.eventId, name: this.#name });
      this.#changes.set(item.eventId, { item: { ...item, state }, isDone: true });
      for (const changed of items) this.#changes.set(changed.eventId, { item: changed, isDone: true });
      this.setItems(this.items.value);
      this.revision.value += 1;
      void refreshAccount();
    } catch (error) {
      this.#changes.delete(item.eventId);
      this.setItems(this.#putBack(item));
      // What the gateway refuses, it knows better: somebody else has changed the item.
      if (error instanceof GatepostError && error.status !== 0) void this.reload();
      throw error;
    }
  }

  /** Return the items with one as it was, in its place; others may have gone or come since. */
  #putBack(item: Item): readonly Item[] {
    const list = this.items.value;
    if (list.some((other) => other.eventId === item.eventId)) return list.map((other) => (other.eventId === item.eventId ? item : other));
    const index = list.findIndex((other) => (this.isByUrgency ? isMoreUrgent(item, other) : isOlder(other, item)));
    return index === -1 ? [...list, item] : list.toSpliced(index, 0, item);
  }

  #matches(item: Item): boolean {
    const { state, type, sender, text } = this.#filter;
    const words = `${item.subject ?? ""}\n${item.content}`.toLowerCase();
    return (
      (state === undefined || item.state === state) &&
      (type === undefined || item.type === type) &&
      (sender === undefined || item.sender === sender) &&
      (text === undefined || words.includes(text.toLowerCase()))
    );
  }

  /** Show items as the changes have left them; what the filter does not let through any more goes. */
  protected override setItems(items: readonly Item[]): void {
    const byId = new Map(items.map((item) => [item.eventId, this.#changes.get(item.eventId)?.item ?? item]));
    this.items.value = [...byId.values()].filter((item) => !this.#changes.has(item.eventId) || this.#matches(item));
  }
}

/** Return the items with a new one behind those that are as urgent. */
function insertByUrgency(items: readonly Item[], item: Item): readonly Item[] {
  const index = items.findIndex((other) => other.priority > item.priority);
  return index === -1 ? [...items, item] : items.toSpliced(index, 0, item);
}

function isMoreUrgent(item: Item, other: Item): boolean {
  return item.priority === other.priority ? isOlder(item, other) : item.priority < other.priority;
}

/** The id holds the time as well, more exactly. */
function isOlder(item: Item, other: Item): boolean {
  const [time, otherTime] = [Date.parse(item.createdAt), Date.parse(other.createdAt)];
  return time === otherTime ? item.eventId < other.eventId : time < otherTime;
}
