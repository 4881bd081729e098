/** Texts of strangers: shown as data, never able to change what is around them. */

import { parseJson, writeJson } from "@gatepost/client";

/** Characters that turn the direction of what follows, and control characters. */
const DIRECTION = /[\u202a-\u202e\u2066-\u2069]/g;
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufeff]/g;
/** More combining marks in a row than any language has. */
const MARKS = /(\p{M}{4})\p{M}+/gu;

/** Return a text without the characters that play tricks. */
export function cleanText(text: string): string {
  return text.replace(DIRECTION, "").replace(CONTROL, "\ufffd").replace(MARKS, "$1");
}

/** Return the beginning of a text on one line. */
export function toLine(text: string, limit = 240): string {
  const line = cleanText(text.slice(0, limit * 2)).replace(/\s+/g, " ").trim();
  return line.length > limit || text.length > limit * 2 ? line.slice(0, limit) + "…" : line;
}

/** Return Markdown for a preview on one line, without its most frequent marks. */
export function stripMarks(text: string): string {
  return text.replace(/```\w*|`|\*\*|__|^#{1,6} |^> ?/gm, "").replace(/(^|[\s(])([*_])(\S(?:[^*_\n]*\S)?)\2(?=$|[\s.,:;!?)])/gm, "$1$3");
}

/** Return a count for people: 512, 1.2 k, 1.0 M; only what is exact has no decimal: 60 k. */
export function formatSize(count: number): string {
  if (count < 1000) return String(count);
  if (count < 999_950) return `${(count / 1000).toFixed(count % 1000 === 0 ? 0 : 1)} k`;
  return `${(count / 1_000_000).toFixed(count % 1_000_000 === 0 ? 0 : 1)} M`;
}

/** Return "1 item", "2 items". */
export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : many}`;
}

/** Return JSON in lines, or the text itself if it is none. */
export function formatJson(value: unknown): string {
  if (typeof value !== "string") return writeJson(value, 2) ?? "";
  try {
    return value.length > 200_000 ? value : (writeJson(parseJson(value), 2) ?? value);
  } catch {
    return value;
  }
}

export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message.charAt(0).toUpperCase() + error.message.slice(1);
}
