/** Make a plan, or change one. */

import type { CatchUp, Plan } from "@gatepost/client";
import { useState } from "preact/hooks";

import { agents, displayName, entities } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client, isAdministrator, me } from "../data/session.js";
import { buildPath, navigate } from "../router.js";
import { Dialog, DialogActions } from "../ui/dialog.js";
import { useSubmission } from "../ui/submission.js";
import { toLine } from "../ui/text.js";
import { attempt, showToast } from "../ui/toasts.js";
import { describeCron, OWN_ZONE } from "./describe.js";
import { ZoneField } from "./zone-field.js";

interface PlanDialogProps {
  /** The plan to change; without one a plan is made. */
  plan?: Plan;
  owner?: string | undefined;
  onClose: () => void;
  onDone: () => void;
}

type When = "cron" | "at" | "after" | "gate" | "keep";

const WHENS: Record<When, string> = {
  keep: "as it is",
  cron: "repeatedly",
  at: "once, at a time",
  after: "once, after a while",
  gate: "when a gate is resolved",
};

export function PlanDialog({ plan, owner, onClose, onDone }: PlanDialogProps) {
  const [when, setWhen] = useState<When>(plan === undefined ? "cron" : plan.cron !== null ? "cron" : plan.status === "pending" ? "keep" : "at");
  const [cron, setCron] = useState(plan?.cron ?? "0 9 * * 1-5");
  const { isBusy, submit } = useSubmission();
  const save = async (form: HTMLFormElement) => {
    const data = new FormData(form);
    const read = (name: string) => String(data.get(name) ?? "").trim();
    const fields = { name: read("name"), instruction: read("instruction"), ...readSchedule(when, read) };
    await submit(async () => {
      const isDone = await attempt(async () => {
        if (plan !== undefined) {
          // One that has ended is planned again, so it is to fire.
          await client.changePlan({ id: plan.id, ...fields, ...(plan.status === "pending" ? {} : { active: true }) });
          showToast("Plan changed");
        } else {
          const created = await client.createPlan({ ...fields, owner: read("owner") || me.value });
          navigate(buildPath("plans", created.id));
          showToast("Plan made");
        }
      });
      if (!isDone) return false;
      onDone();
      onClose();
      return true;
    });
  };
  return (
    <Dialog title={plan === undefined ? "New plan" : "Change the plan"} onClose={onClose}>
      <form class="dialog-body stack gap-3" onSubmit={(event) => (event.preventDefault(), void save(event.currentTarget))}>
        <label class="label">
          Name
          <input class="field" name="name" defaultValue={plan?.name ?? ""} required maxLength={200} autoComplete="off" autoFocus />
        </label>
        <label class="label">
          Instruction, as its owner will read it
          <textarea class="field" name="instruction" rows={4} required defaultValue={plan?.instruction ?? ""} />
        </label>
        <div class="field-pair">
          {plan === undefined && isAdministrator.value && (
            <label class="label">
              For
              <select class="field" name="owner">
                {listOwners().map(([name, title]) => (
                  <option key={name} value={name} selected={name === (owner ?? agents().value.agents[0]?.name ?? me.value)}>
                    {toLine(title, 50)}
                  </option>
                ))}
              </select>
            </label>
          )}
          <label class="label">
            When
            <select class="field" name="when" value={when} onChange={(event) => setWhen(event.currentTarget.value as When)}>
              {(Object.keys(WHENS) as When[])
                .filter((name) => name !== "keep" || (plan !== undefined && plan.cron === null && plan.status === "pending"))
                .map((name) => (
                  <option key={name} value={name}>
                    {WHENS[name]}
                  </option>
                ))}
            </select>
          </label>
        </div>
        {when === "cron" && (
          <>
            <div class="field-pair">
              <label class="label">
                Minute, hour, day, month, weekday
                <input class="field code-field" name="cron" value={cron} onInput={(event) => setCron(event.currentTarget.value)} list="cron-examples" required autoComplete="off" spellcheck={false} />
              </label>
              <ZoneField name="timeZone" zone={plan?.timeZone ?? (plan?.cron ? "UTC" : OWN_ZONE)} />
            </div>
            <datalist id="cron-examples">
              {["*/15 * * * *", "@hourly", "0 9 * * *", "0 9 * * 1-5", "0 17 * * 5", "0 8 1 * *"].map((example) => (
                <option key={example} value={example}>
                  {describeCron(example, OWN_ZONE)}
                </option>
              ))}
            </datalist>
            <p class="field-note text">{cron.trim() === "" ? "" : `It fires ${describeCron(cron, OWN_ZONE)}.`}</p>
            <label class="label">
              If the gateway was down
              <select class="field" name="catchUp">
                {[["once", "it fires once, late"], ["all", "it fires for each of them, late"], ["skip", "it does not fire for them"]].map(([value, label]) => (
                  <option key={value} value={value} selected={value === (plan?.catchUp ?? "once")}>
                    {label}
                  </option>
                ))}
              </select>
            </label>
          </>
        )}
        {when === "at" && (
          <label class="label">
            Time, by your clock
            <input class="field" name="at" type="datetime-local" required step={1} defaultValue={toLocalTime(plan?.scheduledAt ?? null)} />
          </label>
        )}
        {when === "after" && (
          <label class="label">
            From now
            <input class="field" name="after" required placeholder="5 minutes, 2 hours, 1 day" defaultValue="5 minutes" autoComplete="off" />
          </label>
        )}
        {when === "gate" && <GateField gate={plan?.onGate ?? undefined} />}
        <DialogActions action={plan === undefined ? "Make the plan" : "Save"} isDisabled={isBusy} onCancel={onClose} />
      </form>
    </Dialog>
  );
}

function GateField({ gate }: { gate: string | undefined }) {
  const { value } = useLoad((signal) => client.listGates({ pending: true, limit: 500 }, { signal }), []);
  return (
    <label class="label">
      Gate
      <select class="field" name="gate" required>
        {value?.items.length === 0 && <option value="">no gate is pending</option>}
        {value?.items.map((other) => (
          <option key={other.id} value={other.id} selected={other.id === gate}>
            {toLine(`${other.name} (holds ${other.owner})`, 80)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Return who can own a plan, agents first. */
function listOwners(): [string, string][] {
  const list = entities.value.filter((entity) => entity.kind !== "service");
  return list.toSorted((a, b) => Number(a.kind === "human") - Number(b.kind === "human")).map(({ name }) => [name, displayName(name)]);
}

function readSchedule(when: When, read: (name: string) => string): object {
  switch (when) {
    case "cron":
      return { cron: read("cron"), timeZone: read("timeZone") || "UTC", catchUp: read("catchUp") as CatchUp };
    case "at":
      return { scheduledAt: new Date(read("at")).toISOString() };
    case "after":
      return { runAfter: read("after") };
    case "gate":
      return { onGate: read("gate") };
    case "keep":
      return {};
  }
}

/** Return a time as a field of this browser has it; by default the next whole hour. */
export function toLocalTime(time: string | null): string {
  const date = time === null ? new Date(Math.ceil(Date.now() / 3_600_000) * 3_600_000) : new Date(time);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
