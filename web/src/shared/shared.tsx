/** The shared inbox: what people write on all channels, what agents ask them there, and what agents answer. */

import "../inbox/inbox.css";
import "../decisions/decisions.css";
import "./shared.css";

import type { ChannelSession, EntryKind, SharedEntry } from "@gatepost/client";
import { useMemo, useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { displayName } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client, isAdministrator, noticeFailure } from "../data/session.js";
import { useStore } from "../data/store.js";
import { buildPath, changeQuery, keepQuery, navigate, query, segments } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Empty, Failure, Skeleton } from "../ui/parts.js";
import { toLine } from "../ui/text.js";
import { VirtualList } from "../ui/virtual-list.js";
import { describeChannel, KINDS } from "./describe.js";
import { EntryPane } from "./detail.js";
import { SharedList, type SharedFilter } from "./list.js";
import { EntryRow, ROW_HEIGHT } from "./row.js";

const BUILT_IN = ["telegram", "cli", "web"];
const ENTRY_KINDS = Object.keys(KINDS) as EntryKind[];
/** Entries that are loaded at once, after the first page. */
const NEXT_PAGE = 1000;
/** Sessions that are offered. */
const MAX_SESSIONS = 1000;

export default function Shared() {
  const filter = readFilter();
  const key = JSON.stringify(filter);
  const list = useMemo(() => new SharedList(filter), [key]);
  const { items: entries, isLoading, error } = useStore(list);
  const openId = segments.value[1];
  const [cursor, setCursor] = useState(0);
  const openIndex = entries.findIndex((entry) => entry.id === openId);
  const index = openIndex >= 0 ? openIndex : Math.min(cursor, entries.length - 1);
  const entry = entries[index];
  const isSelected = (position: number) => position === index && (openId === undefined || openIndex >= 0);

  const open = (next: SharedEntry) => navigate(keepQuery(buildPath("shared", next.id)), { replace: openId !== undefined });
  const close = () => navigate(keepQuery("/shared"));
  const select = (next: number) => {
    const position = Math.max(0, Math.min(entries.length - 1, next));
    const selected = entries[position];
    setCursor(position);
    if (selected && openId !== undefined) open(selected);
  };
  useCommands([
    { id: "next", title: "Next entry", group: "Shared inbox", keys: "j", run: () => select(index + 1), isKeyOnly: true },
    { id: "previous", title: "Previous entry", group: "Shared inbox", keys: "k", run: () => select(index - 1), isKeyOnly: true },
    { id: "open", title: "Open the entry", group: "Shared inbox", keys: "Enter", run: () => entry && open(entry), isKeyOnly: true },
    { id: "close", title: "Back to the list", group: "Shared inbox", keys: "Escape", run: close, isKeyOnly: true },
    { id: "session", title: "Show only this session", group: "Shared inbox", keys: "s", run: () => entry && navigate(`/shared?${new URLSearchParams({ channel: entry.channel, session: entry.sessionId })}`) },
    { id: "all", title: "Show all entries", group: "Shared inbox", keys: "x", run: () => navigate("/shared") },
    { id: "waiting", title: "Show questions that wait", group: "Shared inbox", run: () => changeQuery({ pending: "true", kind: undefined }) },
    ...ENTRY_KINDS.map((kind) => ({ id: `kind-${kind}`, title: `Show ${KINDS[kind].many.toLowerCase()}`, group: "Shared inbox", run: () => changeQuery({ kind, pending: undefined }) })),
  ]);

  return (
    <div class={`inbox split shared ${openId === undefined ? "" : "has-detail"}`}>
      <section class="inbox-list pane" aria-label="Entries">
        <SharedHead filter={filter} isBeside={openId !== undefined} />
        <div class="fill">
          {isLoading ? (
            <Skeleton rows={12} />
          ) : error !== undefined && entries.length === 0 ? (
            <Failure error={error} onRetry={() => void list.refresh()} />
          ) : entries.length === 0 ? (
            <NoEntries filter={filter} />
          ) : (
            <VirtualList
              items={entries}
              rowHeight={ROW_HEIGHT}
              selectedIndex={index}
              onEnd={() => void list.loadMore(NEXT_PAGE).catch(noticeFailure)}
              label="Entries"
              renderRow={(row, position) => <EntryRow entry={row} href={keepQuery(buildPath("shared", row.id))} isSelected={isSelected(position)} onSelect={() => setCursor(position)} />}
            />
          )}
        </div>
      </section>
      {openId !== undefined && <EntryPane key={openId} id={openId} listed={entries[openIndex]} onClose={close} />}
    </div>
  );
}

function SharedHead({ filter, isBeside }: { filter: SharedFilter; isBeside: boolean }) {
  // What is open has the first heading.
  const Heading = isBeside ? "h2" : "h1";
  const { value: channels } = useLoad(async (signal) => (isAdministrator.value ? (await client.listChannels({}, { signal })).items.map((channel) => channel.provider) : []), []);
  const { value: sessions } = useLoad((signal) => client.listChannelSessions({ limit: MAX_SESSIONS }, { signal }), []);
  const names = [...new Set([...BUILT_IN, ...(channels ?? []), ...(filter.channel === undefined ? [] : [filter.channel])])];
  const offered = (sessions?.items ?? []).filter((session) => filter.channel === undefined || session.channel === filter.channel).toSorted((a, b) => b.lastAt.localeCompare(a.lastAt));
  return (
    <>
      <header class="view-head inbox-head">
        <Heading class="view-title" title="What people and agents wrote on all channels">
          Shared inbox
        </Heading>
        <span class="grow" />
        <a class="button" href="/chat">
          <Icon name="chat" size={14} /> Chat
        </a>
      </header>
      <div class="shared-bar view-bar line wrap">
        <nav class="tabs" aria-label="Kind">
          <Tab title="All" isCurrent={filter.kind === undefined && !filter.pending} onClick={() => changeQuery({ kind: undefined, pending: undefined })} />
          <Tab title="Waiting" isCurrent={filter.pending} onClick={() => changeQuery({ kind: undefined, pending: "true" })} />
          {ENTRY_KINDS.map((kind) => (
            <Tab key={kind} title={KINDS[kind].many} isCurrent={filter.kind === kind && !filter.pending} onClick={() => changeQuery({ kind, pending: undefined })} />
          ))}
        </nav>
        <div class="shared-filters columns gap-2">
          <select class="field small" aria-label="Channel" value={filter.channel ?? ""} onChange={(event) => changeQuery({ channel: event.currentTarget.value, session: undefined })}>
            <option value="">All channels</option>
            {names.map((name) => (
              <option key={name} value={name}>
                {toLine(describeChannel(name), 40)}
              </option>
            ))}
          </select>
          <select class="field small" aria-label="Session" value={filter.session ?? ""} onChange={(event) => changeQuery({ session: event.currentTarget.value })}>
            <option value="">All sessions</option>
            {filter.session !== undefined && !offered.some((session) => session.sessionId === filter.session) && <option value={filter.session}>{toLine(filter.session, 80)}</option>}
            {offered.map((session) => (
              <option key={`${session.channel} ${session.trigger ?? ""} ${session.sessionId}`} value={session.sessionId}>
                {describeOption(session)}
              </option>
            ))}
          </select>
        </div>
      </div>
    </>
  );
}

function Tab({ title, isCurrent, onClick }: { title: string; isCurrent: boolean; onClick: () => void }) {
  return (
    <button class="tab" aria-current={isCurrent ? "page" : undefined} onClick={onClick}>
      {title}
    </button>
  );
}

function NoEntries({ filter }: { filter: SharedFilter }) {
  const isFiltered = filter.channel !== undefined || filter.session !== undefined || filter.kind !== undefined || filter.pending;
  if (isFiltered) {
    return (
      <Empty icon="channels" title={filter.pending ? "No question waits" : "No entry matches"}>
        <button class="button" onClick={() => navigate("/shared")}>
          Show all entries
        </button>
      </Empty>
    );
  }
  return (
    <Empty icon="channels" title="Nobody has written on a channel yet">
      <p>What people write on Telegram, on the command line and on this page comes here, with what agents ask and answer.</p>
      <a class="button primary" href="/chat">
        Start a conversation
      </a>
    </Empty>
  );
}

function describeOption({ sessionId, person, userName }: ChannelSession): string {
  const who = person === null ? userName : displayName(person);
  return toLine(who === null ? sessionId : `${sessionId} · ${who}`, 80);
}

function readFilter(): SharedFilter {
  const values = query.value;
  const kind = values.get("kind");
  return {
    channel: values.get("channel") || undefined,
    session: values.get("session") || undefined,
    kind: ENTRY_KINDS.find((other) => other === kind),
    pending: values.get("pending") === "true",
  };
}
