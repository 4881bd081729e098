/** Enable and disable plans. What was pressed is seen at once, before the gateway has answered. */

import type { Plan } from "@gatepost/client";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { client } from "../data/session.js";
import { ConfirmDialog } from "../ui/confirm-dialog.js";
import { toLine } from "../ui/text.js";
import { attempt, showToast } from "../ui/toasts.js";
import { formatMoment } from "./describe.js";

interface PlanToggle {
  /** Return a plan as it is after what was pressed. */
  apply: (plan: Plan) => Plan;
  toggle: (plan: Plan) => void;
  /** The question whether a plan may fire at once, while it is asked. */
  dialog: ComponentChildren;
}

/** `loaded` is what the view has loaded: it replaces what was pressed as soon as it is newer. */
export function usePlanToggle(loaded: unknown, reload: () => void): PlanToggle {
  const [changes, setChanges] = useState<ReadonlyMap<string, Plan>>(new Map());
  const [asked, setAsked] = useState<Plan | undefined>(undefined);
  // One after the other, so that the last one that was pressed is the last one that is done.
  const queue = useRef(Promise.resolve());
  const waiting = useRef(0);
  useEffect(() => {
    if (waiting.current === 0) setChanges(new Map());
  }, [loaded]);
  const send = (plan: Plan, active: boolean) => {
    setChanges((old) => new Map(old).set(plan.id, { ...plan, active }));
    waiting.current += 1;
    queue.current = queue.current.then(async () => {
      const undo = () => send({ ...plan, active: false }, true);
      const isDone = await attempt(async () => {
        const answer = await client.changePlan({ id: plan.id, active });
        if (waiting.current === 1) setChanges((old) => new Map(old).set(plan.id, answer));
      });
      waiting.current -= 1;
      if (isDone) showToast(active ? "Plan enabled" : "Plan disabled", active ? {} : { undo });
      else setChanges((old) => new Map([...old].filter(([id]) => id !== plan.id)));
      if (waiting.current === 0) reload();
    });
    return queue.current;
  };
  const toggle = (plan: Plan) => (!plan.active && hasPassed(plan) ? setAsked(plan) : void send(plan, !plan.active));
  const dialog = asked && (
    <ConfirmDialog title="Enable this plan?" action="Enable" onClose={() => setAsked(undefined)} onConfirm={() => send(asked, true)}>
      “{toLine(asked.name, 80)}” was due {formatMoment(asked.scheduledAt ?? "")}, while it was disabled. It fires at once.
    </ConfirmDialog>
  );
  return { apply: (plan) => changes.get(plan.id) ?? plan, toggle, dialog };
}

/** A switch for a row of a list. */
export function PlanSwitch({ plan, onToggle }: { plan: Plan; onToggle: () => void }) {
  return <button class="switch" role="switch" aria-checked={plan.active} aria-label={`Plan ${toLine(plan.name, 60)}`} title={plan.active ? "Disable (p)" : "Enable (p)"} onClick={onToggle} />;
}

/** Whether a plan that is due once would fire as soon as it is enabled. */
function hasPassed(plan: Plan): boolean {
  return plan.cron === null && plan.scheduledAt !== null && Date.parse(plan.scheduledAt) <= Date.now();
}
