/** The items of all inboxes that a number counts, as the address says: by state and time, the newest first. */

import "./health.css";

import type { Item, ItemState } from "@gatepost/client";
import { useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { displayName, findEntity } from "../data/live.js";
import { usePages } from "../data/pages.js";
import { client, noticeFailure } from "../data/session.js";
import { describeType, itemText } from "../inbox/describe.js";
import { buildPath, changeQuery, navigate, query, withFilters } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Avatar, Empty, Failure, Line, Priority, Skeleton } from "../ui/parts.js";
import { stripMarks } from "../ui/text.js";
import { describeInstant, RelativeTime } from "../ui/time.js";
import { VirtualList } from "../ui/virtual-list.js";

const STATES: readonly ItemState[] = ["pending", "claimed", "delivered", "expired", "dead", "discarded"];
const PAGE_LENGTH = 200;
const ROW_HEIGHT = 42;

export default function Items() {
  const state = STATES.find((name) => name === query.value.get("state"));
  const [since, until] = [query.value.get("since") || undefined, query.value.get("until") || undefined];
  const filter = { ...(state && { state }), ...(since && { since }), ...(until && { until }) };
  const list = usePages((page, options) => client.listItems({ ...filter, newestFirst: true, ...page }, options), (item) => `${item.recipient} ${item.eventId}`, PAGE_LENGTH, JSON.stringify(filter));
  const [selected, setSelected] = useState(-1);
  const index = Math.min(selected, list.items.length - 1);
  useCommands([
    { id: "next", title: "Next item", group: "Items", keys: "j", run: () => setSelected(Math.min(list.items.length - 1, index + 1)), isKeyOnly: true },
    { id: "previous", title: "Previous item", group: "Items", keys: "k", run: () => setSelected(Math.max(0, index - 1)), isKeyOnly: true },
    { id: "open-item", title: "Open the selected item", group: "Items", keys: "Enter", run: () => list.items[index] && navigate(linkItem(list.items[index])), isKeyOnly: true },
    { id: "back-to-health", title: "Back to health", group: "Items", keys: "Escape", run: () => navigate("/health") },
  ]);
  return (
    <div class="pane">
      <header class="view-head">
        <a class="icon-button" href="/health" aria-label="Health">
          <Icon name="back" />
        </a>
        <h1>Items of all inboxes</h1>
      </header>
      <div class="items-filters view-bar line gap-2 wrap">
        <nav class="tabs" aria-label="State">
          {[undefined, ...STATES].map((name) => (
            <a key={name ?? ""} class="tab" href={withFilters("/items", { state: name, since, until })} aria-current={name === state ? "page" : undefined}>
              {name ?? "All"}
            </a>
          ))}
        </nav>
        {(since !== undefined || until !== undefined) && (
          <button class="button small" title="Remove the filter of time" onClick={() => changeQuery({ since: undefined, until: undefined })}>
            {[since && `since ${describeInstant(since)}`, until && `until ${describeInstant(until)}`].filter(Boolean).join(" ")}
            <span class="visually-hidden">, remove</span> <span aria-hidden="true">×</span>
          </button>
        )}
      </div>
      <div class="fill">
        {list.isLoading ? (
          <Skeleton rows={12} />
        ) : list.items.length === 0 ? (
          list.error === undefined ? (
            <Empty icon="check" title={`No ${state ?? ""} items${since === undefined ? "" : " in this time"}`}>
              {state === "dead" && <p>An item that failed too often would wait here until somebody replays it.</p>}
              {since !== undefined && <p>What arrived may have been removed since: items are kept for a while after their end.</p>}
            </Empty>
          ) : (
            <Failure error={list.error} onRetry={list.refresh} />
          )
        ) : (
          <VirtualList items={list.items} rowHeight={ROW_HEIGHT} selectedIndex={index} onEnd={() => void list.loadMore().catch(noticeFailure)} label="Items" renderRow={(item, position) => <Row item={item} isSelected={position === index} />} />
        )}
      </div>
    </div>
  );
}

function Row({ item, isSelected }: { item: Item; isSelected: boolean }) {
  return (
    <a class={`row items-row ${isSelected ? "is-selected" : ""}`} href={linkItem(item)}>
      <Priority level={item.priority} />
      <Avatar name={displayName(item.recipient)} kind={findEntity(item.recipient)?.kind ?? "agent"} isSmall />
      <Line text={displayName(item.recipient)} limit={60} class="strong" />
      <Line text={item.subject || stripMarks(itemText(item).slice(0, 400)) || `from ${item.senderName ?? item.source}`} class="grow" />
      <span class="muted hide-phone">{describeType(item.type)}</span>
      <span class={`badge ${item.state === "dead" ? "danger" : item.state === "pending" ? "accent" : ""}`}>{item.state}</span>
      <RelativeTime time={item.createdAt} />
    </a>
  );
}

function linkItem(item: Item): string {
  const target = buildPath("inbox", item.recipient, item.eventId);
  return item.state === "pending" ? target : `${target}?state=${item.state}`;
}
