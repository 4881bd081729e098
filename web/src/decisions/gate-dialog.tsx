/** Add a gate, which keeps an agent from stopping until something has happened. */

import type { GateKind } from "@gatepost/client";
import { useState } from "preact/hooks";

import { AddressField } from "../agents/address-field.js";
import { client, me } from "../data/session.js";
import { Dialog, DialogActions } from "../ui/dialog.js";
import { useSubmission } from "../ui/submission.js";
import { attempt } from "../ui/toasts.js";

/** The words of each kind; null: it is not added here. Gates that run commands are added at a terminal. */
const KINDS: Record<GateKind, { until: string; awaits?: string } | null> = {
  human: { until: "a person resolves it", awaits: "Who resolves it (optional)" },
  timer: { until: "a time has passed" },
  mail: { until: "mail comes from somebody", awaits: "From whom" },
  event: { until: "an event comes to it", awaits: "Type of the event, such as alert" },
  ci: null,
  command: null,
  decision: null,
};

export function GateDialog({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [owner, setOwner] = useState("");
  const [kind, setKind] = useState<GateKind>("human");
  const { isBusy, submit } = useSubmission();
  const awaits = KINDS[kind]?.awaits;
  const save = (form: HTMLFormElement) => {
    const data = new FormData(form);
    const read = (name: string) => String(data.get(name) ?? "").trim();
    return submit(async () => {
      const request = { name: read("name"), kind, owner: owner.trim(), madeBy: me.value, awaits: read("awaits") || null, instruction: read("instruction"), within: read("within") || null };
      const isAdded = await attempt(() => client.addGate(request), "Gate added");
      onDone();
      if (isAdded) onClose();
      return isAdded;
    });
  };
  return (
    <Dialog title="New gate" onClose={onClose}>
      <form class="dialog-body stack gap-3" onSubmit={(event) => (event.preventDefault(), void save(event.currentTarget))}>
        <AddressField label="Which agent may not stop" value={owner} onInput={setOwner} />
        <div class="field-pair">
          <label class="label">
            Until
            <select class="field" name="kind" value={kind} onChange={(event) => setKind(event.currentTarget.value as GateKind)}>
              {Object.entries(KINDS).map(
                ([name, words]) =>
                  words && (
                    <option key={name} value={name}>
                      {words.until}
                    </option>
                  ),
              )}
            </select>
          </label>
          <label class="label">
            {kind === "timer" ? "How long" : "At most (optional)"}
            <input class="field" name="within" required={kind === "timer"} placeholder="2h" autoComplete="off" />
          </label>
        </div>
        {awaits !== undefined && (
          <label class="label">
            {awaits}
            <input class="field" name="awaits" required={kind !== "human"} autoComplete="off" spellcheck={false} />
          </label>
        )}
        <label class="label">
          Name
          <input class="field" name="name" required maxLength={100} autoComplete="off" placeholder="review" />
        </label>
        <label class="label">
          What the agent is told when it wants to stop (optional)
          <textarea class="field" name="instruction" rows={2} />
        </label>
        <DialogActions action="Add the gate" isDisabled={isBusy || owner.trim() === ""} onCancel={onClose} />
      </form>
    </Dialog>
  );
}
