/** The head of an inbox: whose it is, which items are shown, and what is said if there are none. */

import type { Account } from "@gatepost/client";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { displayName, entities } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client, isAdministrator, me } from "../data/session.js";
import { buildPath, changeQuery, navigate, query } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Empty } from "../ui/parts.js";
import { plural, toLine } from "../ui/text.js";
import { describeType, EVENT_TYPES } from "./describe.js";
import { isNarrow, type InboxFilter } from "./filter.js";

const TABS = ["pending", "snoozed", "delivered", "dead"] as const;
type Tab = (typeof TABS)[number];

function describeTab(tab: Tab, isPerson: boolean): string {
  if (tab === "delivered") return isPerson ? "Done" : "Delivered";
  return tab.slice(0, 1).toUpperCase() + tab.slice(1);
}

function countTab(account: Account, tab: Tab): number {
  if (tab === "snoozed") return account.hidden;
  return tab === "pending" ? account.pending - account.hidden : account[tab];
}

interface HeadProps {
  name: string;
  isPerson: boolean;
  filter: InboxFilter;
  revision: number;
  onPush: () => void;
}

export function InboxHead({ name, isPerson, filter, revision, onPush }: HeadProps) {
  const [isFiltering, setFiltering] = useState(filter.type !== undefined || filter.sender !== undefined || filter.text !== undefined);
  const words = useRef<HTMLInputElement>(null);
  const [searches, setSearches] = useState(0);
  const search = () => {
    setFiltering(true);
    setSearches(searches + 1);
  };
  // At once: the next key is for the field.
  useLayoutEffect(() => {
    if (searches > 0) words.current?.focus();
  }, [searches]);
  useCommands([{ id: "search", title: "Search the items", group: "Inbox", keys: "f", run: search }]);
  const { value: account, reload } = useLoad((signal) => client.showAccount({ name }, { signal }), [name, filter.state ?? ""]);
  useEffect(() => {
    if (revision > 0) reload();
  }, [revision]);
  const state = filter.hidden === true ? "snoozed" : (filter.state ?? "all");
  const isGrouped = query.value.get("view") === "alike";
  return (
    <>
      <header class="view-head inbox-head">
        <h1 class="visually-hidden">Inbox of {toLine(displayName(name), 60)}</h1>
        <select class="field inbox-who strong" aria-label="Whose inbox" value={name} onChange={(event) => navigate(event.currentTarget.value === me.value ? "/inbox" : buildPath("inbox", event.currentTarget.value))}>
          <option value={me.value}>Your inbox</option>
          {entities.value
            .filter((entity) => isAdministrator.value && entity.name !== me.value && entity.kind !== "service")
            .map((entity) => (
              <option key={entity.name} value={entity.name}>
                {toLine(displayName(entity.name), 80)}
              </option>
            ))}
        </select>
        <span class="grow" />
        {filter.state === "pending" && (
          <button class="icon-button" aria-label="Group similar" title="Group similar (a)" aria-pressed={isGrouped} onClick={() => changeQuery({ view: isGrouped ? undefined : "alike" })}>
            <Icon name="group" />
          </button>
        )}
        <button class="icon-button" aria-label="Filter" title="Filter (f)" aria-pressed={isFiltering} onClick={() => (isFiltering ? setFiltering(false) : search())}>
          <Icon name="search" />
        </button>
        <button class="icon-button" aria-label="Push an event" title="Push an event (c)" onClick={onPush}>
          <Icon name="plus" />
        </button>
      </header>
      <nav class="tabs view-bar" aria-label="State">
        {TABS.map((tab) => (
          <button key={tab} class="tab" aria-current={state === tab ? "page" : undefined} onClick={() => changeQuery({ state: tab === "pending" ? undefined : tab, view: undefined })}>
            {describeTab(tab, isPerson)}
            {account && <span class="number">{countTab(account, tab).toLocaleString("en")}</span>}
          </button>
        ))}
        <select class="tab state-select" aria-label="Other states" value={TABS.some((tab) => tab === state) ? "" : state} onChange={(event) => changeQuery({ state: event.currentTarget.value || undefined })}>
          <option value="">More</option>
          <option value="all">all states</option>
          <option value="claimed">claimed</option>
          <option value="expired">expired</option>
          <option value="discarded">discarded</option>
        </select>
      </nav>
      {filter.origin !== undefined && (
        <p class="view-bar line gap-2">
          <span class="muted text grow">Only from {toLine(filter.origin, 80)}</span>
          <button class="button small" onClick={() => changeQuery({ origin: undefined, type: undefined })}>
            Show all
          </button>
        </p>
      )}
      {isFiltering && (
        <div class="inbox-filters columns gap-2 view-bar">
          <input
            ref={words}
            class="field"
            type="search"
            placeholder="Search subject and text"
            aria-label="Words"
            value={filter.text ?? ""}
            onChange={(event) => changeQuery({ text: event.currentTarget.value })}
            onKeyDown={(event) => {
              if (event.key !== "Escape") return;
              event.preventDefault(); // the browser would empty it, and the list with it
              event.currentTarget.blur();
            }}
          />
          <select class="field" aria-label="Type" value={filter.type ?? ""} onChange={(event) => changeQuery({ type: event.currentTarget.value })}>
            <option value="">all types</option>
            {EVENT_TYPES.map((type) => (
              <option key={type} value={type}>
                {describeType(type)}
              </option>
            ))}
          </select>
          <select class="field" aria-label="Sender" value={filter.sender ?? ""} onChange={(event) => changeQuery({ sender: event.currentTarget.value })}>
            <option value="">all senders</option>
            {entities.value.map((entity) => (
              <option key={entity.name} value={entity.name}>
                {toLine(displayName(entity.name), 80)}
              </option>
            ))}
          </select>
        </div>
      )}
    </>
  );
}

export function NoItems({ name, filter, onPush }: { name: string; filter: InboxFilter; onPush: () => void }) {
  if (isNarrow(filter)) {
    return (
      <Empty icon="search" title="No items match">
        <button class="button" onClick={() => changeQuery({ type: undefined, sender: undefined, text: undefined, origin: undefined })}>
          Remove the filters
        </button>
      </Empty>
    );
  }
  if (filter.hidden === true) return <Empty icon="clock" title="Nothing is snoozed">{<p>An item that you snooze waits here until its time, or until what it waits for comes.</p>}</Empty>;
  if (filter.state === "dead") return <Empty icon="check" title="No dead items">{<p>An item that failed too often waits here until somebody replays it.</p>}</Empty>;
  if (filter.state !== "pending") return <Empty icon="inbox" title="No items in this state" />;
  return (
    <Empty icon="check" title={name === me.value ? "All done" : `${plural(0, "pending item")}`}>
      <p>Mail, alerts, answers and due plans come here. You can push an event by hand to see how it works.</p>
      <button class="button" onClick={onPush}>
        Push an event
      </button>
    </Empty>
  );
}
