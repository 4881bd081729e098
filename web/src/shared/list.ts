/**
 * The entries of the shared inbox under a filter, the newest first. New entries come through the feed; a question comes
 * again when it has ended, and is shown as it is then.
 */

import type { EntryKind, GatepostEvent, SharedEntry, SharedEntryPage } from "@gatepost/client";

import { FeedList } from "../data/feed-list.js";
import { client } from "../data/session.js";

export interface SharedFilter {
  channel: string | undefined;
  session: string | undefined;
  kind: EntryKind | undefined;
  pending: boolean;
}

const PAGE_LENGTH = 100;

export class SharedList extends FeedList<SharedEntry> {
  readonly #filter: SharedFilter;

  constructor(filter: SharedFilter) {
    super();
    this.#filter = filter;
  }

  protected override get firstLength(): number {
    return PAGE_LENGTH;
  }

  protected override load(after: string | undefined, limit: number): Promise<SharedEntryPage> {
    return client.listSharedEntries({ ...this.#filter, newest: true, after, limit });
  }

  /** Show the last entries; what was loaded of the history stays. */
  protected override showFirst(page: SharedEntryPage): void {
    const oldest = page.items[0]?.seq ?? 0;
    const older = page.next === null ? [] : this.items.value.filter((entry) => entry.seq < oldest);
    if (older.length === 0) this.next = page.next;
    this.setItems([...page.items, ...older]);
  }

  protected override receive({ event, data }: GatepostEvent): void {
    if (event !== "shared.entry") return;
    const others = this.items.value.filter((entry) => entry.seq !== data.seq);
    if (matches(data, this.#filter)) {
      // An old question that has ended belongs to a page that is not loaded.
      const oldest = this.items.value.at(-1)?.seq ?? 0;
      if (this.next === null || data.seq >= oldest) this.setItems([data, ...others]);
    } else if (others.length < this.items.value.length) this.setItems(others);
  }

  protected override setItems(entries: readonly SharedEntry[]): void {
    const bySeq = new Map<number, SharedEntry>();
    for (const entry of entries) if (!bySeq.has(entry.seq)) bySeq.set(entry.seq, entry);
    this.items.value = [...bySeq.values()].sort((a, b) => b.seq - a.seq);
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
