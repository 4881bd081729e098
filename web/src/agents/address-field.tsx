/** A field for the name of somebody here, with what is known of how to reach an agent. */

import { displayName, entities, findEntity } from "../data/live.js";
import { AgentReachability } from "./reachability.js";
import { toLine } from "../ui/text.js";

interface AddressFieldProps {
  label: string;
  value: string;
  onInput: (value: string) => void;
}

/** Return the unique name of whom somebody wrote as the page shows them; another text as it is. */
function findName(text: string): string {
  const wanted = text.trim().toLowerCase().replace(/^@/, "");
  const live = entities.value.filter(({ retiredAt }) => retiredAt === null);
  if (live.some(({ name }) => name === wanted)) return wanted;
  const [match, ...others] = live.filter((entity) => [entity.displayName, displayName(entity.name)].some((label) => label.toLowerCase() === wanted));
  return match !== undefined && others.length === 0 ? match.name : text;
}

export function AddressField({ label, value, onInput }: AddressFieldProps) {
  const name = value.trim();
  return (
    <div class="stack gap-1">
      <label class="label">
        {label}
        <input class="field" list="addresses" required value={value} autoComplete="off" spellcheck={false} autoFocus onInput={(event) => onInput(event.currentTarget.value)} onChange={(event) => onInput(findName(event.currentTarget.value))} />
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
