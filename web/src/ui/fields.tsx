/** Data of others as names and values: the arguments of a call, a payload. One click shows it as JSON. */

import { useState } from "preact/hooks";

import { PlainText } from "./markdown.js";
import { cleanText, formatJson, toLine } from "./text.js";

/** What has more fields, or is nested deeper, is shown as JSON. */
const MAX_FIELDS = 24;
const MAX_DEPTH = 3;
/** Characters of a value that is shown as it is. */
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
          <dt class="text">{toLine(name, 60)}</dt>
          <dd>
            <FieldValue value={value} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function FieldValue({ value }: { value: unknown }) {
  if (isRecord(value)) return <FieldList fields={value} />;
  if (Array.isArray(value) && value.some((entry) => typeof entry === "object" && entry !== null)) {
    return (
      <ul class="data-entries">
        {value.map((entry, index) => (
          <li key={index}>{isRecord(entry) && Object.values(entry).every(isScalar) ? <EntryLine entry={entry} /> : <FieldValue value={entry} />}</li>
        ))}
      </ul>
    );
  }
  const text = Array.isArray(value) ? value.map(String).join(", ") : value === null ? "nothing" : String(value);
  return (
    <span class={`text plain ${value === null || text === "" ? "muted" : ""}`} dir="auto">
      {text === "" ? "empty" : cleanText(text)}
    </span>
  );
}

/** A small object on one line: "id yes, label Order it". */
function EntryLine({ entry }: { entry: Fields }) {
  return (
    <span class="text">
      {Object.entries(entry).map(([name, value], index) => (
        <span key={name}>
          {index > 0 && ", "}
          <span class="muted">{toLine(name, 40)}</span> {cleanText(String(value))}
        </span>
      ))}
    </span>
  );
}

/** Return the fields of what is small enough to be read as fields. */
function readFields(value: unknown): Fields | undefined {
  let data = value;
  if (typeof value === "string") {
    if (!/^\s*\{/.test(value) || value.length > 20_000) return undefined;
    try {
      data = JSON.parse(value);
    } catch {
      return undefined;
    }
  }
  return isRecord(data) && Object.keys(data).length > 0 && countFields(data, MAX_DEPTH) <= MAX_FIELDS ? data : undefined;
}

function countFields(value: unknown, depth: number): number {
  if (typeof value === "string") return value.length > MAX_VALUE ? Infinity : 1;
  if (typeof value !== "object" || value === null) return 1;
  if (depth === 0) return Infinity;
  return Object.values(value).reduce<number>((sum, part) => sum + countFields(part, depth - 1), 1);
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isScalar(value: unknown): boolean {
  return typeof value !== "object" || value === null;
}
