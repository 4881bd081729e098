/** One line of an inbox: how urgent, who, what, how old. */

import type { Item } from "@gatepost/client";

import { Icon } from "../ui/icons.js";
import { Name } from "../ui/name.js";
import { Line, Priority } from "../ui/parts.js";
import { stripMarks, toLine } from "../ui/text.js";
import { formatMoment } from "../plans/describe.js";
import { formatClock, formatDay, formatExact, RelativeTime } from "../ui/time.js";
import { describeState, describeType, itemText, typeIcon } from "./describe.js";

export const ROW_HEIGHT = 58;

interface RowProps {
  item: Item;
  href: string;
  isSelected: boolean;
  isPerson: boolean;
  showState: boolean;
  isMarked: boolean;
  /** Whether any item is marked: then all rows have a box. */
  isMarking: boolean;
  onSelect: () => void;
  onMark: () => void;
}

export function ItemRow({ item, href, isSelected, isPerson, showState, isMarked, isMarking, onSelect, onMark }: RowProps) {
  return (
    <div class={`item-line ${isMarked ? "is-marked" : ""} ${isMarking ? "is-marking" : ""}`}>
    <input type="checkbox" class="item-mark" aria-label={`Mark ${toLine(item.subject || itemText(item), 60)}`} checked={isMarked} tabIndex={-1} onChange={onMark} />
    <a class={`row item-row ${isSelected ? "is-selected" : ""}`} href={href} onClick={onSelect} aria-current={isSelected ? "true" : undefined}>
      <Priority level={item.priority} />
      <span class="item-who line">
        <span class="muted" title={describeType(item.type)}>
          <Icon name={typeIcon(item.type)} size={13} />
        </span>
        <Name name={item.sender} label={item.senderName ?? item.sender ?? item.source} outside="a service" class="item-sender strong" />
        {item.hiddenUntil !== undefined && (
          <time class="badge" dateTime={item.hiddenUntil} title={formatExact(item.hiddenUntil)}>
            until {formatDay(item.hiddenUntil) === "Today" ? formatClock(item.hiddenUntil) : formatMoment(item.hiddenUntil)}
          </time>
        )}
        {showState && <span class={`badge ${item.state === "dead" ? "danger" : ""}`}>{describeState(item.state, isPerson)}</span>}
        {item.attempts > 1 && <span class="badge warn">{item.attempts} tries</span>}
      </span>
      <RelativeTime time={item.createdAt} />
      <span class="item-text line">
        {item.subject !== null && item.subject !== "" && <Line text={item.subject} limit={100} class="item-subject" />}
        <Line text={stripMarks(itemText(item).slice(0, 400))} limit={200} class="muted" />
      </span>
    </a>
    </div>
  );
}
