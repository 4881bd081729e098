/** One line of the shared inbox: what it is, who wrote it where, and how old it is. */

import type { SharedEntry } from "@gatepost/client";

import { Icon } from "../ui/icons.js";
import { Name } from "../ui/name.js";
import { Line } from "../ui/parts.js";
import { stripMarks, toLine } from "../ui/text.js";
import { RelativeTime } from "../ui/time.js";
import { describeChannel, describeStatus, describeStranger, describeTargets, KINDS } from "./describe.js";

export const ROW_HEIGHT = 58;

interface RowProps {
  entry: SharedEntry;
  href: string;
  isSelected: boolean;
  onSelect: () => void;
}

export function EntryRow({ entry, href, isSelected, onSelect }: RowProps) {
  const kind = KINDS[entry.kind];
  const status = entry.status === null ? undefined : describeStatus(entry.status);
  return (
    <a class={`row item-row shared-row ${isSelected ? "is-selected" : ""}`} href={href} onClick={onSelect} aria-current={isSelected ? "true" : undefined}>
      <span class="muted" role="img" aria-label={kind.title} title={kind.title}>
        <Icon name={kind.icon} size={14} />
      </span>
      <span class="item-who line">
        <Name name={entry.sender} label={entry.sender === null ? (entry.senderName ?? "Somebody unknown") : undefined} outside={describeStranger(entry)} class="item-sender strong" />
        {entry.kind === "user_prompt" && <Line text={describeTargets(entry)} limit={80} class="shared-to muted xs" />}
        {status && <span class={`badge ${status.tone}`}>{status.text}</span>}
        <span class="shared-session muted xs" title={`Session ${toLine(entry.sessionId, 80)}`}>
          {toLine(describeChannel(entry.channel), 40)}
        </span>
      </span>
      <RelativeTime time={entry.createdAt} />
      <span class="item-text line">
        <Line text={stripMarks(entry.content.slice(0, 400))} limit={200} class="muted" />
        {entry.answer !== null && (
          <span class="shared-answer line">
            <Icon name="check" size={12} />
            <Line text={entry.answer} limit={60} />
          </span>
        )}
      </span>
    </a>
  );
}
