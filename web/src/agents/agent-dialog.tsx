/**
 * Add an agent, or change one: a form, and beside it the same as JSON. The gateway checks what is sent, and the field that
 * it names gets the focus.
 */

import { parseJson, writeJson, type Agent } from "@gatepost/client";
import { useState } from "preact/hooks";

import { agentsStore, loadEntities } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { loadMembers, spaces } from "../data/spaces.js";
import { buildPath, navigate } from "../router.js";
import { Dialog, DialogActions } from "../ui/dialog.js";
import { Line } from "../ui/parts.js";
import { useSubmission } from "../ui/submission.js";
import { toLine } from "../ui/text.js";
import { attempt } from "../ui/toasts.js";
import { buildChange, buildDocument, buildRegistration, readModel, readPath, writePath, type AgentDocument } from "./agent-document.js";
import { BudgetFields, ModelFields, MoreFields, PlaceFields } from "./agent-fields.js";

interface AgentDialogProps {
  /** The agent to change; without one an agent is added. */
  agent?: Agent;
  onClose: () => void;
  onDone?: () => void;
}

export function AgentDialog({ agent, onClose, onDone }: AgentDialogProps) {
  const [before] = useState<AgentDocument>(() => (agent === undefined ? { model: "demo" } : buildDocument(agent)));
  const [document, setDocument] = useState(before);
  const [name, setName] = useState(agent?.name ?? "");
  const own = useOwnSpaces(agent?.name);
  const [chosen, setChosen] = useState<ReadonlySet<string> | undefined>(undefined);
  const { value: models } = useLoad((signal) => client.showModels({}, { signal }), []);
  const { isBusy, submit } = useSubmission();
  const isGuest = readModel(document) === "" && document.model === undefined;
  const save = () =>
    submit(async () => {
      const send = () => (agent === undefined ? client.registerAgent(buildRegistration(name, document)) : client.changeAgent(buildChange(name, before, document)));
      if (!(await attempt(send))) return false;
      await Promise.all([agentsStore.refresh(), loadEntities()]);
      onDone?.();
      onClose();
      if (agent === undefined) navigate(buildPath("agents", name));
      await attempt(() => (chosen === undefined ? Promise.resolve() : moveToSpaces(name, own, chosen)), agent === undefined ? "Agent added" : "Agent changed");
      return true;
    });
  const props = { document, onChange: setDocument };
  return (
    <Dialog title={agent === undefined ? "New agent" : `Change ${toLine(agent.displayName, 40)}`} isWide onClose={onClose}>
      <form class="dialog-body agent-form" onSubmit={(event) => (event.preventDefault(), void save())}>
        <div class="stack gap-3">
          <div class="field-pair">
            {agent === undefined && (
              <label class="label">
                Name
                <input class="field" data-path="name" value={name} required autoFocus maxLength={63} autoComplete="off" spellcheck={false} placeholder="analyst" onInput={(event) => setName(event.currentTarget.value.trim())} />
              </label>
            )}
            <label class="label">
              Name to show
              <input class="field" data-path="displayName" autoFocus={agent !== undefined} value={String(readPath(document, "displayName") ?? "")} autoComplete="off" placeholder={name} onInput={(event) => setDocument(writePath(document, "displayName", event.currentTarget.value || undefined))} />
            </label>
          </div>
          <ModelFields {...props} models={models} canBeGuest={agent === undefined || before.model === undefined} />
          {!isGuest && (
            <label class="label">
              Instructions
              <textarea class="field" data-path="instructions" rows={5} value={String(readPath(document, "instructions") ?? "")} placeholder="What it does, for whom, and how it answers" onInput={(event) => setDocument(writePath(document, "instructions", event.currentTarget.value || undefined))} />
            </label>
          )}
          <SpaceChoice chosen={chosen ?? own} onChange={setChosen} />
          <PlaceFields {...props} />
          {!isGuest && <BudgetFields {...props} />}
          <details class="more-fields">
            <summary>{isGuest ? "More" : "Tools, limits and more"}</summary>
            <div class="stack gap-3">
              <MoreFields {...props} isGuest={isGuest} />
            </div>
          </details>
        </div>
        <RawDocument {...props} />
        <div class="agent-form-end stack gap-3">
          <DialogActions action={agent === undefined ? "Add the agent" : "Save"} isDisabled={isBusy} onCancel={onClose} />
        </div>
      </form>
    </Dialog>
  );
}

/** The same as JSON; what is written here is in the form at once. */
function RawDocument({ document, onChange }: { document: AgentDocument; onChange: (document: AgentDocument) => void }) {
  const [draft, setDraft] = useState<string | undefined>(undefined);
  const change = (element: HTMLTextAreaElement) => {
    setDraft(element.value);
    const value = readObject(element.value);
    element.setCustomValidity(value === undefined ? "This is not a JSON object" : "");
    if (value !== undefined) onChange(value);
  };
  return (
    <label class="label raw-document">
      The same as JSON
      <textarea
        class="field code-field"
        data-path="*"
        value={draft ?? writeJson(document, 2)}
        spellcheck={false}
        onInput={(event) => change(event.currentTarget)}
        onBlur={(event) => readObject(event.currentTarget.value) !== undefined && setDraft(undefined)}
      />
    </label>
  );
}

function readObject(text: string): AgentDocument | undefined {
  try {
    const value = parseJson(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as AgentDocument) : undefined;
  } catch {
    return undefined;
  }
}

/** The spaces that it is in. */
function SpaceChoice({ chosen, onChange }: { chosen: ReadonlySet<string>; onChange: (chosen: ReadonlySet<string>) => void }) {
  const list = spaces.value ?? [];
  if (list.length === 0) return null;
  const toggle = (id: string) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    onChange(next);
  };
  return (
    <fieldset class="choices">
      <legend>Spaces</legend>
      {list.map(({ id, name }) => (
        <label key={id} class="choice sm line gap-2">
          <input type="checkbox" checked={chosen.has(id)} onChange={() => toggle(id)} />
          <Line text={`#${name}`} limit={60} />
        </label>
      ))}
    </fieldset>
  );
}

/** Return the ids of the spaces that an agent is in. */
function useOwnSpaces(name: string | undefined): ReadonlySet<string> {
  const { value } = useLoad(
    async (signal) => {
      const ids: string[] = [];
      if (name !== undefined) for await (const { id } of client.pages(client.listSpaces, { member: name }, { signal })) ids.push(id);
      return ids;
    },
    [name ?? ""],
  );
  return new Set(value);
}

async function moveToSpaces(name: string, before: ReadonlySet<string>, after: ReadonlySet<string>): Promise<void> {
  for (const id of after) if (!before.has(id)) await client.addMember({ id, name });
  for (const id of before) if (!after.has(id)) await client.removeMember({ id, name });
  await Promise.all([...new Set([...before, ...after])].map(loadMembers));
}
