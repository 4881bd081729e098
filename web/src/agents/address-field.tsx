/** A field for the name of somebody here, with what is known of how to reach an agent. */

import { displayName, entities, findEntity } from "../data/live.js";
import { AgentReachability } from "./reachability.js";
import { toLine } from "../ui/text.js";

interface AddressFieldProps {
  label: string;
  value: string;
  onInput: (value: string) => void;
}

export function AddressField({ label, value, onInput }: AddressFieldProps) {
  const name = value.trim();
  return (
    <div class="stack gap-1">
      <label class="label">
        {label}
        <input class="field" list="addresses" required value={value} autoComplete="off" spellcheck={false} autoFocus onInput={(event) => onInput(event.currentTarget.value)} />
        <datalist id="addresses">
          {entities.value
            .filter(({ retiredAt }) => retiredAt === null)
            .map((entity) => (
              <option key={entity.name} value={entity.name}>
                {toLine(displayName(entity.name), 80)}
              </option>
            ))}
        </datalist>
      </label>
      {findEntity(name)?.kind === "agent" && <AgentReachability name={name} />}
    </div>
  );
}
