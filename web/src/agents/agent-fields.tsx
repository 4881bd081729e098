/** The fields of an agent. Each shows one place of its document, and changes it. */

import { parseJson, writeJson, type ModelProvider, type Models } from "@gatepost/client";
import { useEffect, useState } from "preact/hooks";

import { entities, people } from "../data/live.js";
import { toLine } from "../ui/text.js";
import { PLAIN_MODELS, readModel, readPath, writeModel, writeModelSetting, writePath, type AgentDocument } from "./agent-document.js";

export interface FieldsProps {
  document: AgentDocument;
  onChange: (document: AgentDocument) => void;
}

const PROVIDERS: readonly (readonly [string, string])[] = [
  ["demo", "Demo: answers without a key"],
  ["openai", "OpenAI, or a server that speaks like it"],
  ["anthropic", "Anthropic"],
  ["ollama", "Ollama"],
  ["user-agent", "No model: it passes on what people write"],
];

/** The field of a text; what is empty is not sent. */
function TextField({ document, onChange, path, label }: FieldsProps & { path: string; label: string }) {
  return (
    <label class="label">
      {label}
      <input class="field" data-path={path} value={readText(document, path)} autoComplete="off" onInput={(event) => onChange(writePath(document, path, event.currentTarget.value || undefined))} />
    </label>
  );
}

function NumberField({ document, onChange, path, label, placeholder }: FieldsProps & { path: string; label: string; placeholder?: string }) {
  return (
    <label class="label">
      {label}
      <input
        class="field"
        data-path={path}
        type="number"
        step="any"
        value={readText(document, path)}
        placeholder={placeholder}
        onInput={({ currentTarget: { value, valueAsNumber } }) => onChange(path.startsWith("model.") ? writeModelSetting(document, path.slice(6), value === "" ? undefined : valueAsNumber) : writePath(document, path, value === "" ? undefined : valueAsNumber))}
      />
    </label>
  );
}

/** Data with a structure of its own, written as JSON. */
function JsonField({ document, onChange, path, label, placeholder }: FieldsProps & { path: string; label: string; placeholder: string }) {
  const stored = readPath(document, path);
  const [text, setText] = useState(stored === undefined ? "" : (writeJson(stored, 2) ?? ""));
  const read = readJson(text);
  useEffect(() => {
    // It was changed elsewhere: in the JSON beside the form.
    if (writeJson(read?.value) !== writeJson(stored)) setText(stored === undefined ? "" : (writeJson(stored, 2) ?? ""));
  }, [writeJson(stored)]);
  return (
    <label class="label">
      {label}
      <textarea
        class="field code-field"
        data-path={path}
        rows={text === "" ? 2 : 8}
        value={text}
        placeholder={placeholder}
        spellcheck={false}
        onInput={({ currentTarget }) => {
          const next = readJson(currentTarget.value);
          setText(currentTarget.value);
          currentTarget.setCustomValidity(next === undefined ? "This is not JSON" : "");
          if (next !== undefined) onChange(writePath(document, path, next.value));
        }}
      />
    </label>
  );
}

/** The model: who provides it, its name, and what this gateway lacks for it. */
export function ModelFields({ document, onChange, models, canBeGuest }: FieldsProps & { models: Models | undefined; canBeGuest: boolean }) {
  const whole = readModel(document);
  const colon = whole.indexOf(":");
  const provider = colon < 0 ? whole : whole.slice(0, colon);
  const hasName = provider !== "" && !PLAIN_MODELS.includes(provider);
  const known = models?.inUse.flatMap(({ name }) => (name.startsWith(`${provider}:`) ? [name.slice(provider.length + 1)] : [])) ?? [];
  const describe = (name: string, words: string) => {
    const lacks = models?.providers.find((other) => other.name === name);
    return lacks === undefined || listLacks(lacks) === "" ? words : `${words} (${listLacks(lacks)})`;
  };
  // A server of its own may need no key, and another variable may have it: the gateway says so of the agent.
  const isUsual = readPath(document, "model.baseUrl") === undefined && readPath(document, "model.keyEnv") === undefined;
  const chosen = isUsual ? models?.providers.find((other) => other.name === provider) : undefined;
  return (
    <>
      <div class="field-pair">
        <label class="label">
          Model
          <select class="field" data-path="model" value={provider} onChange={({ currentTarget: { value } }) => onChange(writeModel(document, value === "" || PLAIN_MODELS.includes(value) ? value : `${value}:`))}>
            {canBeGuest && <option value="">None: it runs elsewhere, as a guest</option>}
            {provider === "code" && <option value="code">a Python function</option>}
            {PROVIDERS.map(([name, words]) => (
              <option key={name} value={name}>
                {describe(name, words)}
              </option>
            ))}
          </select>
        </label>
        {hasName && (
          <label class="label">
            Name of the model
            <input class="field" data-path="model.name" value={colon < 0 ? "" : whole.slice(colon + 1)} required list="model-names" placeholder="as its provider calls it" autoComplete="off" spellcheck={false} onInput={(event) => onChange(writeModel(document, `${provider}:${event.currentTarget.value.trim()}`))} />
            <datalist id="model-names">
              {known.map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </label>
        )}
      </div>
      {chosen !== undefined && <ProviderNote provider={chosen} />}
    </>
  );
}

/** What a provider lacks here, and how to mend it. */
export function ProviderNote({ provider }: { provider: ModelProvider }) {
  const isKeyMissing = provider.keyVariable !== null && !provider.keySet;
  if (!provider.libraryInstalled) {
    return (
      <p class="notice">
        <span class="text">
          Its library is not installed where the gateway runs: <code>{provider.install}</code>
        </span>
      </p>
    );
  }
  if (isKeyMissing) {
    return (
      <p class="notice">
        <span class="text">
          <code>{provider.keyVariable}</code> is not set where the gateway runs, so the demo answers in its place. Set it there, and start the gateway again; or name a server or another variable below.
        </span>
      </p>
    );
  }
  return <p class="field-note">{provider.keyVariable === null ? "It needs no key." : `${provider.keyVariable} is set where the gateway runs.`}</p>;
}

export function listLacks(provider: ModelProvider): string {
  return [provider.libraryInstalled ? "" : "no library", provider.keyVariable === null || provider.keySet ? "" : "no key"].filter(Boolean).join(", ");
}

/** Who it is among the others. */
export function PlaceFields(props: FieldsProps) {
  const teams = [...new Set(entities.value.flatMap((entity) => entity.team ?? []))].sort();
  return (
    <div class="field-pair">
      <label class="label">
        Team
        <input class="field" data-path="team" list="agent-teams" value={readText(props.document, "team")} autoComplete="off" onInput={(event) => props.onChange(writePath(props.document, "team", event.currentTarget.value || undefined))} />
      </label>
      <TextField {...props} path="role" label="Role in the team" />
      <datalist id="agent-teams">
        {teams.map((team) => (
          <option key={team} value={team} />
        ))}
      </datalist>
      <label class="label">
        Owner, who gets its alerts
        <select class="field" data-path="owner" value={readText(props.document, "owner") || "admin"} onChange={(event) => props.onChange(writePath(props.document, "owner", event.currentTarget.value))}>
          {people.value.map(({ name, displayName }) => (
            <option key={name} value={name}>
              {toLine(displayName, 60)}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

/** What it may spend. */
export function BudgetFields(props: FieldsProps) {
  const { document, onChange } = props;
  return (
    <fieldset class="field-group">
      <legend>Budget</legend>
      <div class="field-pair">
        <NumberField {...props} path="budget.tokens" label="Tokens" placeholder="no limit" />
        <NumberField {...props} path="budget.cycles" label="Runs" placeholder="no limit" />
        <label class="label">
          In
          <select class="field" data-path="budget.per" value={readText(document, "budget.per") || "day"} disabled={readPath(document, "budget") === undefined} onChange={(event) => onChange(writePath(document, "budget.per", event.currentTarget.value))}>
            <option value="day">a day (UTC)</option>
            <option value="hour">an hour</option>
          </select>
        </label>
      </div>
    </fieldset>
  );
}

/** What few agents need. */
export function MoreFields(props: FieldsProps & { isGuest: boolean }) {
  const { document, onChange, isGuest } = props;
  const skills = readPath(document, "skills");
  const canRoute = Array.isArray(skills) && skills.includes("routing");
  return (
    <>
      <ListField {...props} path="aliases" label="Other names, separated by commas" />
      <label class="check line gap-2">
        <input type="checkbox" data-path="skills" checked={canRoute} onChange={(event) => onChange(writePath(document, "skills", event.currentTarget.checked ? ["routing"] : undefined))} />
        It may change the routing rules
      </label>
      {!isGuest && (
        <>
          <TextField {...props} path="description" label="What it is for, for its prompt" />
          <JsonField {...props} path="tools" label="Tools that only this agent has" placeholder={TOOLS_EXAMPLE} />
          <JsonField {...props} path="mcp" label="MCP servers whose tools it uses" placeholder={'{"servers": [{"name": "files", "command": ["npx", "some-server"]}]}'} />
          <div class="field-pair">
            <ModelSetting {...props} setting="baseUrl" label="Server of the model" placeholder="https://HOST/v1" />
            <ModelSetting {...props} setting="keyEnv" label="Variable with its key" placeholder="the usual one" />
            <ModelSetting {...props} setting="fallback" label="Second model, used when the first one fails" placeholder="PROVIDER:NAME" />
            <NumberField {...props} path="model.temperature" label="Temperature" placeholder="that of the model" />
            <NumberField {...props} path="model.maxTokens" label="Tokens of one answer" placeholder="as many as it likes" />
          </div>
          <div class="field-pair">
            <NumberField {...props} path="loop.maxSteps" label="Steps of one run" placeholder="20" />
            <NumberField {...props} path="loop.maxCalls" label="Tool calls in one reply" placeholder="32" />
            <NumberField {...props} path="loop.maxTokens" label="Most tokens that one run may add" placeholder="50000" />
            <NumberField {...props} path="mind.maxTokens" label="Tokens in its mind" placeholder="100000" />
            <NumberField {...props} path="mind.minRecentCycles" label="Past runs that it is shown in full" placeholder="10" />
          </div>
          <JsonField {...props} path="loop.phases" label="Tools that it may use, from which step" placeholder={'[{"step": 5, "tools": ["send_message"]}]'} />
          <ListField {...props} path="capabilities" label="Capabilities (HCS-11): names or codes, separated by commas" />
        </>
      )}
    </>
  );
}

const TOOLS_EXAMPLE = '[{"name": "revenue", "description": "Revenue of a quarter", "execution": {"url": "https://HOST/revenue/{quarter}", "method": "GET"}}]';

function ModelSetting({ document, onChange, setting, label, placeholder }: FieldsProps & { setting: string; label: string; placeholder: string }) {
  return (
    <label class="label">
      {label}
      <input class="field" data-path={`model.${setting}`} value={readText(document, `model.${setting}`)} placeholder={placeholder} autoComplete="off" spellcheck={false} onInput={(event) => onChange(writeModelSetting(document, setting, event.currentTarget.value || undefined))} />
    </label>
  );
}

/** Names or numbers, separated by commas. */
function ListField({ document, onChange, path, label }: FieldsProps & { path: string; label: string }) {
  const stored = readPath(document, path);
  const [text, setText] = useState(Array.isArray(stored) ? stored.join(", ") : "");
  const entries = splitList(text);
  useEffect(() => {
    if (Array.isArray(stored) && writeJson(stored) !== writeJson(entries)) setText(stored.join(", "));
  }, [writeJson(stored)]);
  const change = (value: string) => {
    setText(value);
    onChange(writePath(document, path, value.trim() === "" ? undefined : splitList(value)));
  };
  return (
    <label class="label">
      {label}
      <input class="field" data-path={path} value={text} autoComplete="off" spellcheck={false} onInput={(event) => change(event.currentTarget.value)} />
    </label>
  );
}

function splitList(text: string): (string | number)[] {
  const words = text.split(",").map((word) => word.trim());
  return words.filter(Boolean).map((word) => (/^\d{1,9}$/.test(word) ? Number(word) : word));
}

function readText(document: AgentDocument, path: string): string {
  const value = readPath(document, path);
  return typeof value === "string" || typeof value === "number" || typeof value === "bigint" ? String(value) : "";
}

/** Return the value of a text in an object; an empty text has none (undefined). Return undefined for what is no JSON. */
function readJson(text: string): { value: unknown } | undefined {
  if (text.trim() === "") return { value: undefined };
  try {
    return { value: parseJson(text) };
  } catch {
    return undefined;
  }
}
