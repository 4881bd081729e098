/** The settings that a gateway is started with: their values, where those are from, and how each is changed. */

import type { Setting } from "@gatepost/client";
import { useState } from "preact/hooks";

import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { CopyButton } from "../ui/copy-button.js";
import { Failure, Line, Skeleton } from "../ui/parts.js";
import { toLine } from "../ui/text.js";
import { Part } from "./part.js";

/** What a section of settings is about; those that people look for are first. */
const SECTIONS: Readonly<Record<string, string>> = {
  inbox: "How long items are kept",
  channel: "Notifications",
  wake: "Waking agents",
  limits: "Limits",
  residents: "Residents",
  store: "Store",
  gateway: "Gateway",
  ledger: "Ledger",
  hedera: "Hedera",
  telegram: "Telegram",
  speech: "Voice messages",
  gates: "Gates",
  decision: "Decisions",
  stop_decision: "Stops of guests",
  hooks: "Hooks",
  courier: "Courier",
  work: "Work items",
  auth: "Bearer tokens",
  "": "General",
};

export function useSettings() {
  return useLoad((signal) => client.showSettings({}, { signal }), []);
}

export function AllSettings() {
  const [wanted, setWanted] = useState("");
  const { value, error, reload } = useSettings();
  if (value === undefined) return error === undefined ? <Skeleton /> : <Failure error={error} onRetry={reload} />;
  const words = wanted.toLowerCase().trim();
  const found = value.settings.filter(({ name, meaning }) => `${name} ${meaning}`.toLowerCase().includes(words));
  const order = Object.keys(SECTIONS);
  const sections = [...new Set(found.map(findSection))].toSorted((a, b) => place(order, a) - place(order, b));
  return (
    <>
      {value.problem !== null && (
        <p class="notice danger text" role="alert">
          {toLine(value.problem, 400)}
        </p>
      )}
      <p class="sm soft text">
        They are set where the gateway is started: in <code>{value.file ?? `${value.home ?? ""}/gatepost.toml`}</code>, or by a variable, which is stronger. A change counts when the gateway starts again.
      </p>
      <input class="field settings-filter" type="search" placeholder="Find a setting" aria-label="Find a setting" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
      {sections.length === 0 && <p class="muted sm">No setting has these words.</p>}
      {sections.map((section) => (
        <Part key={section} title={SECTIONS[section] ?? section} command={section === "inbox" ? "gatepost config show" : ""}>
          <SettingRows settings={found.filter((setting) => findSection(setting) === section)} />
        </Part>
      ))}
    </>
  );
}

export function SettingRows({ settings }: { settings: readonly Setting[] }) {
  return (
    <ul class="card row-list">
      {settings.map((setting) => (
        <li key={setting.name}>
          <details class="setting">
            <summary class="row setting-row">
              <span class="stack">
                <code class="strong">{setting.name}</code>
                <span class="muted xs text">{setting.meaning.replaceAll("`", "")}</span>
              </span>
              <span class="line wrap end gap-2">
                <Line text={setting.value ?? "not set"} limit={120} class={setting.value === null ? "muted" : "strong"} />
                {setting.nextValue !== null && <span class="badge warn">{`${toLine(setting.nextValue, 60) || "not set"} after a restart`}</span>}
                {setting.origin !== "default" && <span class="badge">{setting.origin === setting.variable ? "by a variable" : "set"}</span>}
              </span>
            </summary>
            <dl class="facts setting-more">
              <dt>Write</dt>
              <dd class="line top gap-2">
                <pre class="text">{setting.line}</pre>
                <CopyButton text={setting.line} label={`Copy the lines of ${setting.name}`} />
              </dd>
              <dt>Or the variable</dt>
              <dd>
                <code class="text">{setting.variable}</code>
              </dd>
              <dt>It is</dt>
              <dd class="text">{setting.form.replaceAll("`", "")}</dd>
              <dt>Default</dt>
              <dd class="text">{setting.default ?? "not set"}</dd>
              <dt>Now from</dt>
              <dd class="text">{setting.origin === "default" ? "the default" : toLine(setting.origin, 300)}</dd>
            </dl>
          </details>
        </li>
      ))}
    </ul>
  );
}

function findSection({ name }: Setting): string {
  return name.includes(".") ? name.slice(0, name.indexOf(".")) : "";
}

function place(order: readonly string[], section: string): number {
  return order.includes(section) ? order.indexOf(section) : order.length;
}
