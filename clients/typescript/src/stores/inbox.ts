/**
 * The inbox of an entity: the pending items, or those that a filter lets through, in order of arrival, in the reverse order
 * (`newestFirst`), or in the order in which they are to be read (`mostUrgentFirst`). New items come through the feed.
 *
 * `complete`, `discard` and `replay` change an item here at once; an item whose state the filter does not let through
 * any more goes. Such a change lies over what the gateway said of the item, until the gateway has answered and no load
 * is under way that was asked for before. If the gateway refuses, the change is taken away, what the gateway said
 * meanwhile is there, in its place, and the inbox is loaded again: somebody else has changed the item.
 */

import type { GatepostClient, Page } from "../client.js";
import { GatepostError } from "../errors.js";
import type { GatepostEvent } from "../events.js";
import { Feed } from "../feed.js";
import type { Item, Items, ItemState, ListInbox } from "../models.js";
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

/** Returns what becomes of an item. */
type Change = (item: Item) => Item;

export class InboxStore extends ListStore<Item> {
  readonly #client: GatepostClient;
  readonly #name: string;
  readonly #isByUrgency: boolean;
  readonly #filter: Omit<ListInbox, "name" | "after" | "limit">;
  /** What was changed here, in order. */
  readonly #changes = new Set<Change>();

  constructor(client: GatepostClient, name: string, options: InboxOptions = {}) {
    const { feed, limit, mostUrgentFirst = false, state = "pending", ...filter } = options;
    super(feed ?? new Feed((streamOptions) => client.watchInbox({ name }, streamOptions)), limit);
    this.#client = client;
    this.#name = name;
    this.#isByUrgency = mostUrgentFirst;
    this.#filter = mostUrgentFirst ? { state: "pending" } : state === "all" ? filter : { ...filter, state };
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

  protected override loadPage(page: PageRequest, options?: CallOptions): Promise<Page<Item>> {
    if (this.#isByUrgency) return this.#client.peekInbox({ name: this.#name, ...page }, options);
    return this.#client.listInbox({ ...this.#filter, name: this.#name, ...page }, options);
  }

  protected override identify(item: Item): string {
    return item.eventId;
  }

  protected override receive({ event, data }: GatepostEvent): void {
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

  #letsThrough({ state }: Item): boolean {
    return this.#filter.state === undefined || this.#filter.state === state;
  }

  async #change(
    eventId: string,
    changeState: (state: ItemState) => ItemState,
    operation: (request: { id: string; name: string }) => Promise<Items>,
  ): Promise<void> {
    const change: Change = (item) => (item.eventId === eventId ? { ...item, state: changeState(item.state) } : item);
    this.#changes.add(change);
    this.show();
    try {
      const { items } = await operation.call(this.#client, { id: eventId, name: this.#name });
      this.#confirm(items);
    } catch (error) {
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

function matches(item: Item, filter: Omit<ListInbox, "name">): boolean {
  const { state, type, messageType, priority, sender, ref, channel, text, until } = filter;
  const words = `${item.subject ?? ""}\n${item.content}`.toLowerCase();
  return (
    (state === undefined || item.state === state) &&
    (type === undefined || item.type === type) &&
    (messageType === undefined || (item.type === "mail" && readMessageType(item) === messageType)) &&
    (priority === undefined || item.priority === priority) &&
    (sender === undefined || item.sender === sender) &&
    (ref === undefined || (item.ref !== null && `${item.ref.type}:${item.ref.id}` === ref)) &&
    (channel === undefined || item.route?.channel === channel) &&
    (text === undefined || words.includes(text.toLowerCase())) &&
    until === undefined
  );
}

/** Return the type of mail; mail whose sender gave it none is a message. */
function readMessageType({ data }: Item): unknown {
  return (data as { messageType?: unknown } | null)?.messageType ?? "message";
}
