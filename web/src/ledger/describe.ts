/** Words for what is on the ledger, and the content of a message. */

import { parseJson, type Topic, type TopicKind, type TopicMessage } from "@gatepost/client";

import { displayName } from "../data/live.js";
import type { IconName } from "../ui/icons.js";

export const TOPIC_KINDS: readonly TopicKind[] = ["inbound", "outbound", "work", "broadcast", "definitions", "file", "connection", "peer"];

const TITLES: Record<TopicKind, string> = {
  inbound: "mail",
  outbound: "log",
  work: "work",
  broadcast: "to everybody",
  definitions: "profiles",
  file: "file",
  connection: "connection",
  peer: "agent outside",
};

export const TOPIC_ICONS: Record<TopicKind, IconName> = {
  inbound: "mail",
  outbound: "send",
  work: "note",
  broadcast: "people",
  definitions: "person",
  file: "note",
  connection: "reply",
  peer: "agent",
};

export function describeKind(kind: TopicKind): string {
  return TITLES[kind];
}

/** Return what a topic is about. */
export function describeTopic(topic: Topic): string {
  if (topic.workItem !== null) return `${topic.workItem.type.charAt(0).toUpperCase()}${topic.workItem.type.slice(1)} ${topic.workItem.id}`;
  switch (topic.kind) {
    case "inbound":
      return `Mail to ${displayName(topic.entity ?? "nobody")}`;
    case "outbound":
      return `Log of ${displayName(topic.entity ?? "nobody")}`;
    case "broadcast":
      return "Mail to every agent";
    case "definitions":
      return "Profiles of all";
    case "file":
      return "Text of a long message";
    default:
      return topic.entity === null ? topic.memo : displayName(topic.entity);
  }
}

/** What a message says, as far as it can be read. */
export interface Content {
  /** What it is: mail, a note, a reference to a file. */
  kind: string;
  text: string;
  /** The inbound topic of the sender. */
  sender?: string;
  /** The topic of the file that has the text. */
  file?: string;
}

/** Read a message in the forms of HCS-10, HCS-1 and HCS-11; any other one is shown as it is. */
export function readContent(message: TopicMessage): Content {
  const text = message.text ?? "";
  const outer = parse(text);
  if (outer === undefined) return { kind: message.chunk === null ? "text" : `chunk ${message.chunk.number} of ${message.chunk.total}`, text };
  const sender = typeof outer.operator_id === "string" ? outer.operator_id.split("@")[0] : undefined;
  const data = typeof outer.data === "string" ? outer.data : undefined;
  const file = data === undefined ? undefined : /^hcs:\/\/1\/(\d+\.\d+\.\d+)$/.exec(data)?.[1];
  const base = sender === undefined ? {} : { sender };
  if (file !== undefined) return { ...base, kind: "mail", text: `its text is the file ${file}`, file };
  const inner = data === undefined ? outer : (parse(data) ?? outer);
  const payload = isRecord(inner.payload) ? inner.payload : {};
  const subject = pickText(inner.subject);
  const body = pickText(payload.text) ?? pickText(inner.note) ?? pickText(inner.text) ?? pickText(inner.content) ?? pickText(inner.display_name);
  const words = [subject, body].filter((part): part is string => part !== undefined && part !== "");
  const event = typeof inner.type === "string" ? /^(project|task|[a-z]+)\.([a-z_]+)$/.exec(inner.type) : null;
  if (event !== null && event[2] !== "note") {
    const change = `${event[1]} ${(event[2] ?? "").replaceAll("_", " ")}`;
    return { ...base, kind: change, text: [...words, listFields(inner)].filter(Boolean).join(", ") };
  }
  return {
    ...base,
    kind: describeType(inner.message_type) ?? pickText(inner.type)?.replace(/^[a-z]+\./, "") ?? pickText(outer.op) ?? (outer.c === undefined ? "message" : "part of a file"),
    text: words.length === 0 ? listFields(inner) || (data ?? text) : words.join(": "),
  };
}

/** Fields that are shown elsewhere: who it is of, and when it was. */
const KNOWN_FIELDS = ["type", "from_agent", "uid", "ts", "note", "text", "content", "subject", "display_name"];

/** Return the other fields of an event: "reason done". */
function listFields(event: Record<string, unknown>): string {
  if (typeof event.type !== "string") return "";
  const fields = Object.entries(event).filter(([name, value]) => !KNOWN_FIELDS.includes(name) && (typeof value === "number" || (typeof value === "string" && value !== "")));
  return fields.map(([name, value]) => `${name} ${value}`).join(", ");
}

/** Return the exact time of consensus, to the nanosecond. */
export function formatConsensus(timestamp: string): { time: string; nanoseconds: string } {
  const [seconds = "0", nanoseconds = "0"] = timestamp.split(".");
  return { time: new Date(Number(seconds) * 1000 + Math.floor(Number(nanoseconds) / 1e6)).toISOString(), nanoseconds };
}

/** Return the kind of a mail, as its sender says; a plain one is mail. */
function describeType(value: unknown): string | undefined {
  return value === "message" ? "mail" : pickText(value);
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value = parseJson(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function pickText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
