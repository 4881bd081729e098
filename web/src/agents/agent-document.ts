/**
 * An agent as a document: what its form and the JSON beside it show, and what is sent. A field that is not there has its
 * default. The gateway alone decides what is right (`residents/agent_config_json.py`); here is only how it is changed.
 */

import { writeJson, type Agent, type ChangeAgent, type RegisterAgent } from "@gatepost/client";

export type AgentDocument = Readonly<Record<string, unknown>>;

/** Models that have no other name than that of their provider. */
export const PLAIN_MODELS: readonly string[] = ["demo", "code", "user-agent"];

/** Return the document of an agent, without what has no value. */
export function buildDocument(agent: Agent): AgentDocument {
  const { displayName, team, role, owner, aliases, skills, config } = agent;
  const fields: Record<string, unknown> = { displayName, team, role, owner, aliases, skills };
  if (config !== null) Object.assign(fields, config, { model: shortenModel(config.model), mcp: config.mcp.servers.length === 0 ? undefined : config.mcp });
  return dropEmpty(fields);
}

function shortenModel({ provider, name, ...settings }: NonNullable<Agent["config"]>["model"]): unknown {
  const wholeName = PLAIN_MODELS.includes(provider) ? provider : `${provider}:${name}`;
  const given = dropEmpty(settings);
  return Object.keys(given).length === 0 ? wholeName : { name: wholeName, ...given };
}

function dropEmpty(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const hasValue = (value: unknown) => value !== null && value !== undefined && value !== "" && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => hasValue(value)));
}

/** Return the value at a path such as "budget.tokens". */
export function readPath(document: AgentDocument, path: string): unknown {
  return path.split(".").reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), document);
}

/** Return a document with another value at a path; undefined removes it, and an object that is empty then goes too. */
export function writePath(document: AgentDocument, path: string, value: unknown): AgentDocument {
  const [name = "", ...rest] = path.split(".");
  const inner = document[name];
  let next = value;
  if (rest.length > 0) {
    const changed = writePath(isObject(inner) ? inner : {}, rest.join("."), value);
    next = Object.keys(changed).length === 0 ? undefined : changed;
  }
  return next === undefined ? Object.fromEntries(Object.entries(document).filter(([key]) => key !== name)) : { ...document, [name]: next };
}

/** Return the whole name of the model, such as "openai:gpt-5"; "" if there is none. */
export function readModel(document: AgentDocument): string {
  const { model } = document;
  const name = isObject(model) ? (model.name ?? model.model) : model;
  const provider = isObject(model) ? model.provider : undefined;
  if (typeof name !== "string") return "";
  return typeof provider === "string" && !name.includes(":") && !PLAIN_MODELS.includes(provider) ? `${provider}:${name}` : name;
}

/** Return the document with another model, whose settings stay; "" for none. */
export function writeModel(document: AgentDocument, name: string): AgentDocument {
  if (name === "") return writePath(document, "model", undefined);
  const { model } = document;
  if (!isObject(model)) return { ...document, model: name };
  const { provider: _provider, model: _model, ...settings } = model;
  return { ...document, model: { ...settings, name } };
}

/** Return the document with another setting of its model, such as its temperature. */
export function writeModelSetting(document: AgentDocument, setting: string, value: unknown): AgentDocument {
  const name = readModel(document);
  const { provider: _provider, model: _model, ...settings } = isObject(document.model) ? document.model : ({} as Record<string, unknown>);
  const model = writePath({ ...settings, name }, setting, value);
  return { ...document, model: Object.keys(model).length === 1 ? name : model };
}

/** Return what is sent to register an agent. */
export function buildRegistration(name: string, document: AgentDocument): RegisterAgent {
  return { ...dropEmpty(document), name };
}

/** Return what is sent to change an agent: the fields that differ; those that are gone get their default. */
export function buildChange(name: string, before: AgentDocument, after: AgentDocument): ChangeAgent {
  const changes: Record<string, unknown> = {};
  for (const field of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (writeJson(before[field]) === writeJson(after[field])) continue;
    changes[field] = after[field] ?? (field === "aliases" ? [] : null);
  }
  return { ...changes, name };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
