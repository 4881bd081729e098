/** The items of an inbox, those alike as one row: "ci: 214 like this". */

import type { ItemGroup, ItemSelection } from "@gatepost/client";
import { useEffect, useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { navigate, path, query } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Name } from "../ui/name.js";
import { Failure, Line, Priority, Skeleton } from "../ui/parts.js";
import { stripMarks } from "../ui/text.js";
import { RelativeTime } from "../ui/time.js";
import { describeType, itemText, typeIcon } from "./describe.js";
import { buildMatching, type InboxFilter } from "./filter.js";
import { NoItems } from "./head.js";

interface GroupsProps {
  name: string;
  filter: InboxFilter;
  isPerson: boolean;
  onComplete: (selection: ItemSelection, count: number) => Promise<void>;
  onDiscard: (selection: ItemSelection) => Promise<void>;
  onSnooze: (selection: ItemSelection, count: number) => void;
  onPush: () => void;
  /** Counts what has changed, here and elsewhere. */
  revision: number;
}

export function Groups({ name, filter, isPerson, revision, onComplete, onDiscard, onSnooze, onPush }: GroupsProps) {
  const { hidden, ...others } = filter;
  const { value, error, reload } = useLoad((signal) => client.listItemGroups({ name, ...others, ...(hidden === undefined ? {} : { hidden }) }, { signal }), [name, filter]);
  useEffect(() => void (revision > 0 && reload()), [revision]);
  const [cursor, setCursor] = useState(0);
  const groups = value?.groups ?? [];
  const index = Math.min(cursor, groups.length - 1);
  const group = groups[index];
  const select = (other: ItemGroup): ItemSelection => ({ matching: { ...buildMatching(filter, value?.at ?? ""), type: other.type, origin: other.origin } });
  const open = (other: ItemGroup) => navigate(buildAddress(other));
  useCommands([
    { id: "next", title: "Next group", group: "Inbox", keys: "j", run: () => setCursor(Math.min(groups.length - 1, index + 1)), isKeyOnly: true },
    { id: "previous", title: "Previous group", group: "Inbox", keys: "k", run: () => setCursor(Math.max(0, index - 1)), isKeyOnly: true },
    { id: "open", title: "Show the items of the group", group: "Inbox", keys: "Enter", run: () => group && open(group), isKeyOnly: true },
    ...(isPerson ? [{ id: "done", title: "Mark the group as done", group: "Inbox", keys: "e", run: () => group && void onComplete(select(group), group.count) }] : []),
    { id: "discard", title: "Discard the group", group: "Inbox", keys: "#", run: () => group && void onDiscard(select(group)) },
    { id: "snooze", title: "Snooze the group", group: "Inbox", keys: "h", run: () => group && onSnooze(select(group), group.count) },
  ]);
  if (value === undefined) return error === undefined ? <Skeleton rows={8} /> : <Failure error={error} onRetry={reload} />;
  if (groups.length === 0) return <NoItems name={name} filter={filter} onPush={onPush} />;
  return (
    <ul class="item-groups" aria-label="Groups of items">
      {groups.map((other, position) => (
        <li key={`${other.type}:${other.origin}`} class="item-group">
          <a class={`row item-row ${position === index ? "is-selected" : ""}`} href={buildAddress(other)} aria-current={position === index ? "true" : undefined} onClick={() => setCursor(position)}>
            <Priority level={other.priority} />
            <span class="item-who line">
              <span class="muted" title={describeType(other.type)}>
                <Icon name={typeIcon(other.type)} size={13} />
              </span>
              <Name name={other.latest.sender} label={other.latest.senderName ?? other.origin} outside="a service" class="item-sender strong" />
              <span class="badge">{other.count === 1 ? describeType(other.type) : `${other.count.toLocaleString("en")} like this`}</span>
            </span>
            <RelativeTime time={other.latest.createdAt} />
            <span class="item-text line">
              {other.latest.subject && <Line text={other.latest.subject} limit={100} class="item-subject" />}
              <Line text={stripMarks(itemText(other.latest).slice(0, 400))} limit={200} class="muted" />
            </span>
          </a>
          {isPerson && (
            <button class="icon-button" aria-label={`Mark all ${other.count} as done`} title="Mark all as done (e)" onClick={() => void onComplete(select(other), other.count)}>
              <Icon name="check" />
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

/** The items of a group, as the list shows them. */
function buildAddress({ type, origin }: ItemGroup): string {
  const next = new URLSearchParams(query.value);
  next.delete("view");
  next.set("type", type);
  next.set("origin", origin);
  return `${path.value}?${next}`;
}
