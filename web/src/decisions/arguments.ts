/** The arguments of an action as fields, by the schema of its tool; without one, by the values that it has. */

import { parseJson } from "@gatepost/client";

import { formatJson } from "../ui/text.js";

export type Arguments = Record<string, unknown>;
export type FieldKind = "text" | "long" | "number" | "boolean" | "choice" | "json";

export interface ArgumentField {
  name: string;
  kind: FieldKind;
  isRequired: boolean;
  description: string;
  /** Of a choice: its values. */
  choices: readonly unknown[];
}

interface Schema {
  type?: unknown;
  enum?: unknown;
  description?: unknown;
}

/** A text that is longer is written on several lines. */
const MAX_LINE = 60;
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/;

export function listFields(schema: unknown, args: Arguments): ArgumentField[] {
  const { properties, required } = (isRecord(schema) ? schema : {}) as { properties?: unknown; required?: unknown };
  const schemas = isRecord(properties) ? properties : {};
  const names = [...new Set([...Object.keys(schemas), ...Object.keys(args)])];
  return names.map((name) => {
    const own = (isRecord(schemas[name]) ? schemas[name] : {}) as Schema;
    const choices = Array.isArray(own.enum) && own.enum.every((choice) => typeof choice === "string") ? own.enum : [];
    return {
      name,
      kind: choices.length > 0 ? "choice" : findKind(own.type, args[name]),
      isRequired: Array.isArray(required) && required.includes(name),
      description: typeof own.description === "string" ? own.description : "",
      choices,
    };
  });
}

function findKind(type: unknown, value: unknown): FieldKind {
  const actual = value === undefined || value === null ? undefined : typeof value;
  // What the agent has given counts: a text where a number should be must be seen as it is.
  if (actual === "string") return type === "string" || type === undefined ? (isLong(value as string) ? "long" : "text") : "json";
  if (actual === "number" || actual === "bigint") return "number";
  if (actual === "boolean") return "boolean";
  if (actual === "object" || value === null) return "json";
  if (type === "string") return "text";
  if (type === "number" || type === "integer") return "number";
  return type === "boolean" ? "boolean" : "json";
}

function isLong(text: string): boolean {
  return text.length > MAX_LINE || text.includes("\n");
}

/** Return the text of a field. */
export function writeField({ kind }: ArgumentField, value: unknown): string {
  if (value === undefined) return "";
  return kind === "json" ? formatJson(typeof value === "string" ? JSON.stringify(value) : value) : String(value);
}

/** Return the value of a text, in a list of one; an empty list for no value, and undefined for none that can be. */
export function readField({ kind, isRequired }: ArgumentField, text: string): [] | [unknown] | undefined {
  switch (kind) {
    case "text":
    case "long":
      return text === "" && !isRequired ? [] : [text];
    case "choice":
      return text === "" ? [] : [text];
    case "boolean":
      return text === "" ? [] : [text === "true"];
    case "number":
      if (text.trim() === "" && !isRequired) return [];
      return NUMBER.test(text.trim()) ? [parseJson(text.trim())] : undefined;
    case "json":
      if (text.trim() === "") return isRequired ? undefined : [];
      try {
        return [parseJson(text)];
      } catch {
        return undefined;
      }
  }
}

export function parseArguments(text: string): Arguments | undefined {
  try {
    const value = parseJson(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Arguments {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
