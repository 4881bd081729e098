/** Lists that are loaded page by page, as the stores of the client do it. */

import { ListStore, type CallOptions, type Page, type PageRequest } from "@gatepost/client";
import { useMemo } from "preact/hooks";

import { feed } from "./feed.js";
import { useStore } from "./store.js";

type LoadPage<Item> = (page: PageRequest, options?: CallOptions) => Promise<Page<Item>>;

class PageList<Item> extends ListStore<Item> {
  readonly #load: LoadPage<Item>;
  readonly #identify: (item: Item) => string;

  constructor(load: LoadPage<Item>, identify: (item: Item) => string, limit: number) {
    super(feed, limit);
    this.#load = load;
    this.#identify = identify;
  }

  protected override loadPage(page: PageRequest, options?: CallOptions): Promise<Page<Item>> {
    return this.#load(page, options);
  }

  protected override identify(item: Item): string {
    return this.#identify(item);
  }

  protected override receive(): void {
    // Whoever shows the list knows after which events it is another one.
  }
}

/** Load pages of `limit` items, and from the first one on when `key` changes. */
export function usePages<Item>(load: LoadPage<Item>, identify: (item: Item) => string, limit: number, key: string) {
  const store = useMemo(() => new PageList(load, identify, limit), [key]);
  const refresh = useMemo(() => () => void store.refresh(), [store]);
  return { ...useStore(store), refresh, loadMore: () => store.loadMore() };
}
