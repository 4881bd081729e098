/**
 * The entries of the shared inbox under a filter, the newest first. New entries come through the feed; a question comes
 * again when it has ended, and is shown as it is then.
 */

import { ListStore, type CallOptions, type EntryKind, type GatepostEvent, type PageRequest, type SharedEntry, type SharedEntryPage } from "@gatepost/client";

import { feed } from "../data/feed.js";
import { client } from "../data/session.js";

export interface SharedFilter {
  channel: string | undefined;
  session: string | undefined;
  kind: EntryKind | undefined;
  pending: boolean;
}

export class SharedList extends ListStore<SharedEntry> {
  readonly #filter: SharedFilter;

  constructor(filter: SharedFilter) {
    super(feed);
    this.#filter = filter;
  }

  protected override loadPage(page: PageRequest, options?: CallOptions): Promise<SharedEntryPage> {
    return client.listSharedEntries({ ...this.#filter, newest: true, ...page }, options);
  }

  protected override identify(entry: SharedEntry): number {
    return entry.seq;
  }

  /** A page has the oldest entry first. */
  protected override present(entries: readonly SharedEntry[]): readonly SharedEntry[] {
    return entries.toSorted((a, b) => b.seq - a.seq);
  }

  protected override receive({ event, data }: GatepostEvent): void {
    if (event !== "shared.entry") return;
    const others = this.items.filter((entry) => entry.seq !== data.seq);
    // An old question that has ended may belong to a page that is not loaded.
    const isLoaded = !this.state.hasMore || this.items.some((entry) => entry.seq <= data.seq);
    this.setItems(isLoaded && matches(data, this.#filter) ? [data, ...others] : others);
  }
}

function matches(entry: SharedEntry, { channel, session, kind, pending }: SharedFilter): boolean {
  return (
    (channel === undefined || entry.channel === channel) &&
    (session === undefined || entry.sessionId === session) &&
    (kind === undefined || entry.kind === kind) &&
    (!pending || entry.status === "pending")
  );
}
