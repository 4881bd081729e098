/** Words for items. */

import type { EventType, Item, ItemState } from "@gatepost/client";

import type { IconName } from "../ui/icons.js";
import { formatJson, toLine } from "../ui/text.js";
import { describeInstant } from "../ui/time.js";

const TYPES: Record<EventType, { name: string; icon: IconName }> = {
  agent: { name: "agent", icon: "agent" },
  alert: { name: "alert", icon: "alert" },
  channel: { name: "channel", icon: "space" },
  decision: { name: "decision", icon: "decision" },
  event: { name: "event", icon: "bolt" },
  gate: { name: "gate", icon: "gate" },
  mail: { name: "mail", icon: "mail" },
  note: { name: "note", icon: "note" },
  plan: { name: "plan", icon: "clock" },
  service: { name: "service", icon: "bolt" },
  space_message: { name: "message", icon: "space" },
  system: { name: "system", icon: "alert" },
  tool_result: { name: "tool result", icon: "tool" },
};

export const EVENT_TYPES = Object.keys(TYPES) as EventType[];
export const ITEM_STATES: readonly ItemState[] = ["pending", "claimed", "delivered", "dead", "expired", "discarded"];

export function describeType(type: EventType): string {
  return TYPES[type]?.name ?? type;
}

export function typeIcon(type: EventType): IconName {
  return TYPES[type]?.icon ?? "bolt";
}

/** Return the name of a state: a person's delivered item is done. */
export function describeState(state: ItemState, isPerson: boolean): string {
  return state === "delivered" && isPerson ? "done" : state;
}

/** Return what a snoozed item waits for. */
export function describeAwaited(awaits: string): string {
  const [head = "", ...rest] = awaits.split(":");
  const name = toLine(rest.join(":"), 80);
  if (head === "from") return `the next event from ${name}`;
  if (head === "about") return `there is news about ${name}`;
  return `the next ${describeType(head as EventType)}${name === "" ? "" : ` from ${name}`}`;
}

/** Return why somebody is told of an event. */
export function describeReason(item: Item): string {
  const sender = item.senderName ?? item.sender ?? item.source;
  switch (item.type) {
    case "mail":
      return `${sender} wrote to you`;
    case "decision":
      return "A decision concerns you";
    case "gate":
      return "A gate concerns you";
    case "alert":
      return "Alert";
    case "plan":
      return "A plan was due";
    case "space_message":
      return `${sender} posted in a space`;
    case "note":
      return `${sender} left a note`;
    case "service":
      return `The service ${item.source} called`;
    default:
      return `From ${sender}`;
  }
}

/** A time in an alert of Gatepost: it is shown by the clock of the reader. */
const INSTANT = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g;

/** What a question says besides itself: it is beside it, as buttons. */
const QUESTION_END = / (?:Action: |Options: |It may be answered in words\.|Answer in words\.|Without an answer until )/;

/** Return the text of an item, or its data if it has none; of a question only the question. */
export function itemText(item: Item): string {
  if (item.type === "decision" && (item.data as { outcome?: unknown } | null)?.outcome === "asked") return item.content.split(QUESTION_END, 1)[0] ?? item.content;
  if (item.content !== "") return item.type === "alert" && item.source === "gatepost" ? item.content.replace(INSTANT, describeInstant) : item.content;
  return item.data === null || item.data === undefined ? "" : formatJson(item.data);
}

/** Return where to do what an alert of Gatepost asks for. */
export function findPlace(item: Item): { href: string; title: string } | undefined {
  const topic = /^alert:gatepost:(pairing|unrouted):/.exec(item.dedupKey ?? "")?.[1];
  if (item.type !== "alert" || topic === undefined) return undefined;
  return topic === "pairing" ? { href: "/channels/pairing", title: "See who wants to be let in" } : { href: "/unrouted", title: "See unrouted messages" };
}

/** Whether there is somebody, or some place, that a reply goes to. */
export function canReply(item: Item): boolean {
  if (item.type === "space_message" || item.type === "channel") return true;
  return item.sender !== null && (item.type === "mail" || (item.type === "note" && item.ref !== null));
}
