/**
 * A list that is loaded page by page and follows the feed. It is loaded again whenever the feed opens, because live
 * events may have been missed before. Events wait while the first page is loaded, so an answer that is older than an
 * event never takes its place.
 */

import type { Feed, GatepostEvent, Page } from "@gatepost/client";
import { signal } from "@preact/signals";

import { noticeFailure } from "./session.js";

/** Items that the gateway sends at once at most. */
export const MAX_LENGTH = 1000;

export abstract class FeedList<Item> {
  readonly items = signal<readonly Item[]>([]);
  readonly status = signal<"loading" | "ready" | "failed">("loading");
  readonly error = signal<Error | undefined>(undefined);
  /** The cursor of the next page; null after the last one. */
  protected next: string | null = null;
  #isLoading = false;
  #isLoadingMore = false;
  /** Whether the first page is to be loaded once more after the present load. */
  #isStale = false;
  #isEnded = false;
  /** Events that wait for a load. */
  #waiting: GatepostEvent[] = [];

  /** Load the first page and follow the feed; return the function that ends it. */
  start(feed: Feed): () => void {
    const unsubscribe = feed.subscribe({
      onEvent: (event) => (this.#isLoading ? this.#waiting.push(event) : this.receive(event)),
      onStatus: (status) => status === "open" && void this.reload(),
    });
    if (!this.#isLoading) void this.reload();
    return () => {
      this.#isEnded = true;
      unsubscribe();
    };
  }

  /** Load the first page again; during a load, once more after it. */
  async reload(): Promise<void> {
    this.#isStale = true;
    if (this.#isLoading) return;
    this.#isLoading = true;
    while (this.#isStale && !this.#isEnded) {
      this.#isStale = false;
      await this.#loadFirst();
    }
    this.#isLoading = false;
    for (const event of this.#waiting.splice(0)) this.receive(event);
  }

  async #loadFirst(): Promise<void> {
    try {
      const page = await this.load(undefined, this.firstLength);
      if (this.#isEnded) return;
      this.showFirst(page);
      this.status.value = "ready";
    } catch (error) {
      noticeFailure(error);
      this.error.value = error as Error;
      if (this.items.value.length === 0) this.status.value = "failed";
    }
  }

  /** Load the next page. */
  async loadMore(): Promise<void> {
    if (this.next === null || this.#isLoadingMore) return;
    this.#isLoadingMore = true;
    try {
      const page = await this.load(this.next, MAX_LENGTH);
      this.next = page.next;
      this.setItems([...this.items.value, ...page.items]);
    } catch (error) {
      this.error.value = error as Error;
    } finally {
      this.#isLoadingMore = false;
    }
  }

  /** How many items the first page has. */
  protected abstract get firstLength(): number;

  /** Load a page; `after` is a cursor, or undefined for the first page. */
  protected abstract load(after: string | undefined, limit: number): Promise<Page<Item>>;

  /** Show the first page, and what is kept of the items that were shown before. */
  protected abstract showFirst(page: Page<Item>): void;

  /** Change the items by an event of the feed. */
  protected abstract receive(event: GatepostEvent): void;

  /** Show items in their order; one that comes twice is shown once. */
  protected abstract setItems(items: readonly Item[]): void;
}
