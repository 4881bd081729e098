/** The arguments of an action, to be changed field by field, or as JSON. */

import type { Decision } from "@gatepost/client";
import { useState } from "preact/hooks";

import { useDraft } from "../data/drafts.js";
import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { focusOnMount } from "../ui/focus.js";
import { Skeleton } from "../ui/parts.js";
import { formatJson, toLine } from "../ui/text.js";
import { listFields, parseArguments, readField, writeField, type ArgumentField, type Arguments } from "./arguments.js";
import { FormButtons, handleKey, type FormProps } from "./form-parts.js";

export function ArgumentsForm({ decision, draft, isWanted, isBusy, onSend, onCancel }: FormProps<Arguments> & { decision: Decision }) {
  const [text, setText] = useDraft(draft, formatJson(decision.action?.args ?? {}));
  const [isRaw, setRaw] = useState(false);
  /** What was typed into fields and is no value. */
  const [wrong, setWrong] = useState<Readonly<Record<string, string>>>({});
  const { value: schema, isLoading } = useLoad((signal) => loadSchema(decision, signal), [decision.id]);
  const args = parseArguments(text);
  const isValid = args !== undefined && (isRaw || Object.keys(wrong).length === 0);
  const change = (field: ArgumentField, typed: string) => {
    const { [field.name]: _, ...others } = wrong;
    const value = readField(field, typed);
    setWrong(value === undefined ? { ...others, [field.name]: typed } : others);
    if (value === undefined || args === undefined) return;
    const next = { ...args };
    if (value.length === 1) next[field.name] = value[0];
    else delete next[field.name];
    setText(formatJson(next));
  };
  if (isLoading) return <Skeleton rows={2} />;
  const fields = listFields(schema, decision.action?.args ?? {});
  return (
    <form
      class="answer-form stack gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (isValid) onSend(args);
      }}
    >
      {isRaw || args === undefined || fields.length === 0 ? (
        <label class="label">
          Arguments, as JSON
          <textarea class="field code-field" rows={Math.min(14, text.split("\n").length + 1)} value={text} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} onKeyDown={(event) => handleKey(event, onCancel)} ref={isWanted ? focusOnMount : undefined} />
        </label>
      ) : (
        fields.map((field, index) => (
          <Field key={field.name} field={field} text={wrong[field.name] ?? writeField(field, args[field.name])} isWrong={field.name in wrong} hasFocus={isWanted && index === 0} onInput={(typed) => change(field, typed)} onCancel={onCancel} />
        ))
      )}
      {args === undefined && <p class="notice danger">This is not a JSON object yet.</p>}
      <FormButtons isBusy={isBusy || !isValid} onCancel={onCancel}>
        {fields.length > 0 && args !== undefined && (
          <button class="button quiet" type="button" onClick={() => (setWrong({}), setRaw(!isRaw))}>
            {isRaw ? "Edit the fields" : "Edit as JSON"}
          </button>
        )}
      </FormButtons>
    </form>
  );
}

interface FieldProps {
  field: ArgumentField;
  text: string;
  isWrong: boolean;
  hasFocus: boolean;
  onInput: (text: string) => void;
  onCancel: () => void;
}

function Field({ field, text, isWrong, hasFocus, onInput, onCancel }: FieldProps) {
  const common = {
    class: `field ${field.kind === "json" ? "code-field" : ""}`,
    "aria-invalid": isWrong,
    onKeyDown: (event: KeyboardEvent & { currentTarget: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement }) => handleKey(event, onCancel),
    ref: hasFocus ? focusOnMount : undefined,
  };
  const options = field.kind === "boolean" ? ["true", "false"] : field.choices.map(String);
  return (
    <label class="label">
      <span class="text">
        {toLine(field.name, 80) || '""'}
        {field.description !== "" && <span class="muted">{` ${toLine(field.description, 200)}`}</span>}
      </span>
      {field.kind === "boolean" || field.kind === "choice" ? (
        <select {...common} value={text} onChange={(event) => onInput(event.currentTarget.value)}>
          {(!field.isRequired || text === "") && <option value="">none</option>}
          {[...new Set([...options, ...(text === "" ? [] : [text])])].map((option) => (
            <option key={option} value={option}>
              {toLine(option, 120)}
            </option>
          ))}
        </select>
      ) : field.kind === "long" || field.kind === "json" ? (
        <textarea {...common} rows={Math.min(8, text.split("\n").length + 1)} value={text} onInput={(event) => onInput(event.currentTarget.value)} />
      ) : (
        <input {...common} value={text} inputMode={field.kind === "number" ? "decimal" : "text"} autoComplete="off" onInput={(event) => onInput(event.currentTarget.value)} />
      )}
      {isWrong && <span class="notice danger">{field.kind === "number" ? "This is not a number yet." : "This is not JSON yet."}</span>}
    </label>
  );
}

/** Return the schema of the tool that the action is about, if the asker has one that the person may see. */
async function loadSchema({ asker, action }: Decision, signal: AbortSignal): Promise<unknown> {
  try {
    const agent = await client.showAgent({ name: asker }, { signal });
    return agent.config?.tools?.find((tool) => tool.name === action?.name)?.inputSchema;
  } catch {
    return undefined; // the values say enough
  }
}
