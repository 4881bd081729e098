/**
 * A list that is loaded page by page. A load brings as many items as are there already, so a list that was scrolled
 * stays as long.
 */

import type { Page } from "../client.js";
import type { FeedSource } from "../feed.js";
import type { CallOptions } from "../options.js";
import { INITIAL_STATE, Store, type StoreState } from "./store.js";

export interface ListState<Item> extends StoreState {
  items: readonly Item[];
  /** Whether there are more items, which are not loaded. */
  hasMore: boolean;
}

export interface PageRequest {
  /** `next` of the previous page; undefined for the first one. */
  after: string | undefined;
  limit: number;
}

const DEFAULT_LIMIT = 100;
/** What the gateway gives at once. */
const MAX_LIMIT = 1000;

export abstract class ListStore<Item> extends Store<ListState<Item>> {
  readonly #limit: number;
  #items: readonly Item[] = [];
  /** The cursor of the next page; null after the last one. */
  #next: string | null = null;
  #nextPage: Promise<void> | undefined;

  constructor(feed: FeedSource, limit = DEFAULT_LIMIT) {
    super(feed, { ...INITIAL_STATE, items: [], hasMore: false });
    this.#limit = limit;
  }

  /** Load the next page, of `limit` items; a second call waits for the first. */
  loadMore(limit = this.#limit): Promise<void> {
    this.#nextPage ??= this.#loadNextPage(limit).finally(() => (this.#nextPage = undefined));
    return this.#nextPage;
  }

  async #loadNextPage(limit: number): Promise<void> {
    while (this.#next !== null) {
      const after = this.#next;
      const page = await this.loadPage({ after, limit });
      if (after !== this.#next) continue; // the list was loaded again, and goes on from elsewhere
      this.#next = page.next;
      this.setItems([...this.#items, ...page.items]);
      return;
    }
  }

  protected override async load(signal: AbortSignal): Promise<void> {
    const items: Item[] = [];
    let after: string | undefined;
    do {
      const limit = Math.min(MAX_LIMIT, Math.max(this.#limit, this.#items.length - items.length));
      const page = await this.loadPage({ after, limit }, { signal });
      items.push(...page.items);
      after = page.next ?? undefined;
    } while (after !== undefined && items.length < this.#items.length);
    this.#next = after ?? null;
    this.setItems(items);
  }

  protected abstract loadPage(page: PageRequest, options?: CallOptions): Promise<Page<Item>>;

  protected abstract identify(item: Item): string | number;

  /** Return what is shown of the items. */
  protected present(items: readonly Item[]): readonly Item[] {
    return items;
  }

  /** The items as the gateway said last. */
  protected get items(): readonly Item[] {
    return this.#items;
  }

  /** Replace the items; one that comes twice counts as it came first. */
  protected setItems(items: readonly Item[]): void {
    const byId = new Map<string | number, Item>();
    for (const item of items) if (!byId.has(this.identify(item))) byId.set(this.identify(item), item);
    this.#items = [...byId.values()];
    this.show();
  }

  protected show(): void {
    this.update({ items: this.present(this.#items), hasMore: this.#next !== null });
  }
}
