/**
 * Data of others as names and values: the arguments of a call, a payload. One click shows it as JSON.
 *
 * A person may approve what is shown here, so no value can look like another one. Each entry of a list has its own line,
 * and a text that could be read as something else (a number, nothing at all) is in quotes.
 */

import { parseJson } from "@gatepost/client";
import { useState } from "preact/hooks";

import { PlainText } from "./markdown.js";
import { cleanText, formatJson } from "./text.js";

/** What has more fields, longer names or values, or is nested deeper, is shown as JSON. */
const MAX_FIELDS = 24;
const MAX_DEPTH = 3;
const MAX_NAME = 60;
const MAX_VALUE = 1_200;

type Fields = Readonly<Record<string, unknown>>;

/** The fields of an object, given as a value or as JSON; whatever else it is, as a text. */
export function DataView({ value, limit = 2000 }: { value: unknown; limit?: number }) {
  const [isRaw, setRaw] = useState(false);
  const fields = readFields(value);
  if (fields === undefined) return <PlainText text={formatJson(value)} limit={limit} />;
  return (
    <div class="data-view">
      {isRaw ? <PlainText text={formatJson(value)} limit={limit} /> : <FieldList fields={fields} />}
      <button class="data-toggle" type="button" aria-label={isRaw ? "Show the fields" : "Show as JSON"} title={isRaw ? "Show the fields" : "Show as JSON"} onClick={() => setRaw(!isRaw)}>
        {isRaw ? "fields" : "{ }"}
      </button>
    </div>
  );
}

function FieldList({ fields }: { fields: Fields }) {
  return (
    <dl class="data-fields">
      {Object.entries(fields).map(([name, value]) => (
        <div key={name} class="data-field">
          <dt class="text">{name === "" ? '""' : cleanText(name)}</dt>
          <dd>
            <FieldValue value={value} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function FieldValue({ value }: { value: unknown }) {
  if (isRecord(value) && Object.keys(value).length > 0) return <FieldList fields={value} />;
  if (Array.isArray(value) && value.length > 0) {
    return (
      <ul class="data-entries">
        {value.map((entry, index) => (
          <li key={index}>
            <FieldValue value={entry} />
          </li>
        ))}
      </ul>
    );
  }
  return (
    <span class={`text plain ${value === null || value === "" ? "muted" : ""}`} dir="auto">
      {typeof value === "string" && isPlain(value) ? cleanText(value) : formatJson(quote(value))}
    </span>
  );
}

/** Whether a text is read as the text that it is: not as a number, `true`, a list, or as one that has quotes itself. */
function isPlain(text: string): boolean {
  return text.trim() === text && !/^(|null|true|false|[-+]?[\d.][\d.,_]*(e[-+]?\d+)?|["'[{].*)$/is.test(text);
}

/** Return a text in quotes, because `formatJson` takes a text for JSON; any other value as it is. */
function quote(value: unknown): unknown {
  return typeof value === "string" ? JSON.stringify(cleanText(value)) : value;
}

/** Return the fields of what is small enough to be read as fields. */
function readFields(value: unknown): Fields | undefined {
  let data = value;
  if (typeof value === "string") {
    if (!/^\s*\{/.test(value) || value.length > 20_000) return undefined;
    try {
      data = parseJson(value);
    } catch {
      return undefined;
    }
  }
  return isRecord(data) && Object.keys(data).length > 0 && countFields(data, MAX_DEPTH) <= MAX_FIELDS ? data : undefined;
}

function countFields(value: unknown, depth: number): number {
  if (typeof value === "string") return value.length > MAX_VALUE ? Infinity : 1;
  if (typeof value !== "object" || value === null) return 1;
  if (depth === 0 || (!Array.isArray(value) && Object.keys(value).some((name) => name.length > MAX_NAME))) return Infinity;
  return Object.values(value).reduce<number>((sum, part) => sum + countFields(part, depth - 1), 1);
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
