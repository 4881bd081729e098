/** The fields of a routing rule. */

import { parseJson, writeJson, type Route } from "@gatepost/client";
import { useState } from "preact/hooks";

import { client } from "../data/session.js";
import { focusOnMount } from "../ui/focus.js";
import { ConfirmDialog } from "../ui/confirm-dialog.js";
import { useSubmission } from "../ui/submission.js";
import { toLine } from "../ui/text.js";
import { attempt, showToast } from "../ui/toasts.js";
import { listAddresses } from "./trigger-dialog.js";

const CHANNELS = ["*", "webhook", "telegram", "cron", "service", "cli", "web"];

interface RouteFormProps {
  /** The rule to change; without one a rule is made. */
  rule?: Route;
  channel?: string;
  /** What a new rule begins with. */
  draft?: { name: string; filters: string };
  /** Called with the id of a new rule, or of the one that was changed; with undefined if nothing was done. */
  onEnd: (id?: string) => void;
}

export function RouteForm({ rule, channel, draft, onEnd }: RouteFormProps) {
  const { isBusy, submit } = useSubmission();
  const [isDeleting, setDeleting] = useState(false);
  const save = async (form: HTMLFormElement) => {
    const data = new FormData(form);
    const read = (name: string) => String(data.get(name) ?? "").trim();
    const action = async () => {
      const fields = { name: read("name"), channel: read("channel") || "*", rank: Number(read("rank") || 0), targets: read("targets").split(/[\s,]+/).filter(Boolean), filters: parseFilters(read("filters")) };
      const saved = rule === undefined ? await client.createRoute(fields) : await client.changeRoute({ id: rule.id, ...fields });
      showToast(rule === undefined ? "Rule added" : "Rule changed");
      onEnd(saved.id);
    };
    await submit(() => attempt(action));
  };
  const remove = async () => {
    if (rule !== undefined && (await attempt(() => client.deleteRoute({ id: rule.id }), "Rule deleted"))) onEnd();
  };
  return (
    <form class="stack gap-3" onSubmit={(event) => (event.preventDefault(), void save(event.currentTarget))}>
      <div class="field-pair">
        <label class="label">
          Name
          <input class="field" name="name" required maxLength={100} defaultValue={rule?.name ?? draft?.name ?? ""} autoComplete="off" ref={rule === undefined && !draft?.name ? focusOnMount : null} />
        </label>
        <label class="label">
          Channel
          <input class="field" name="channel" list="rule-channels" defaultValue={rule?.channel ?? channel ?? "*"} autoComplete="off" />
          <datalist id="rule-channels">
            {CHANNELS.map((name) => (
              <option key={name} value={name}>
                {name === "*" ? "any" : name}
              </option>
            ))}
          </datalist>
        </label>
        <label class="label">
          Rank, the highest decides
          <input class="field" name="rank" type="number" step={1} defaultValue={rule?.rank ?? 0} />
        </label>
      </div>
      <label class="label">
        Filters, one a line; without any it matches everything
        <textarea
          class="field code-field"
          name="filters"
          rows={3}
          spellcheck={false}
          placeholder={'payload.repository.name = "shop"\nmetadata.priority = "urgent"'}
          defaultValue={rule === undefined ? draft?.filters : Object.entries(rule.filters).map(([path, value]) => `${path} = ${writeJson(value)}`).join("\n")}
        />
      </label>
      <label class="label">
        To
        <input class="field" name="targets" required list="rule-targets" ref={rule === undefined && draft?.name ? focusOnMount : null} defaultValue={rule?.targets.join(", ") ?? ""} placeholder="analyst, team:web" autoComplete="off" />
        <datalist id="rule-targets">
          {listAddresses().map((address) => (
            <option key={address} value={address} />
          ))}
        </datalist>
      </label>
      <div class="line gap-2 wrap sm">
        <button class="button primary" disabled={isBusy}>
          {rule === undefined ? "Add the rule" : "Save"}
        </button>
        <button class="button quiet" type="button" onClick={() => onEnd()}>
          Cancel
        </button>
        <span class="grow" />
        {rule !== undefined && (
          <button class="button danger" type="button" onClick={() => setDeleting(true)}>
            Delete
          </button>
        )}
      </div>
      {isDeleting && rule !== undefined && (
        <ConfirmDialog title="Delete this rule?" action="Delete" onClose={() => setDeleting(false)} onConfirm={remove}>
          “{toLine(rule.name, 80)}” decides nothing any more.
        </ConfirmDialog>
      )}
    </form>
  );
}

/** Read lines such as `payload.number = 7`; a value that is not JSON is a text. */
function parseFilters(text: string): Record<string, unknown> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const place = line.indexOf("=");
      if (place < 1) throw new Error(`“${line.slice(0, 60)}” is not a filter: write it as payload.action = "opened"`);
      return [line.slice(0, place).trim(), parseValue(line.slice(place + 1).trim())];
    }),
  );
}

function parseValue(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}
