/** One plan: when it fires, what it says, and what became of its fires. */

import type { Fire, Plan } from "@gatepost/client";
import { useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { displayName } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { buildPath, navigate } from "../router.js";
import { ConfirmDialog } from "../ui/confirm-dialog.js";
import { useSubject } from "../title.js";
import { Icon } from "../ui/icons.js";
import { Markdown } from "../ui/markdown.js";
import { Empty, Failure, Line, Skeleton, Unloaded } from "../ui/parts.js";
import { useSubmission } from "../ui/submission.js";
import { toLine } from "../ui/text.js";
import { attempt, showToast } from "../ui/toasts.js";
import { formatExact, RelativeTime } from "../ui/time.js";
import { describePlan, describeStatus, formatMoment } from "./describe.js";
import { FIRES_INTERVAL, isAboutFires, isAboutPlans, useFollow } from "./follow.js";
import { listNextFires } from "./load.js";
import { NextCountdown } from "./next-countdown.js";
import { FORGOTTEN, PastFires } from "./past-fires.js";
import { PlanDialog } from "./plan-dialog.js";
import { findSpan, SPANS } from "./spans.js";
import { TimeLine } from "./time-line.js";
import { usePlanToggle } from "./toggle.js";

const MAX_FIRES = 100;
const CATCH_UP = { once: "the last one fires, late", all: "all of them fire, late", skip: "they are left out" } as const;

export function PlanPage({ id }: { id: string }) {
  const { value, error, reload, refresh } = useLoad((signal) => client.showPlan({ id }, { signal }), [id]);
  const { apply, toggle, dialog: question } = usePlanToggle(value, reload);
  const plan = value === undefined ? undefined : apply(value);
  const fires = useLoad((signal) => client.listPlanFires({ id, limit: MAX_FIRES }, { signal }), [id]);
  useFollow(refresh, isAboutPlans);
  useFollow(fires.refresh, isAboutFires);
  useSubject(plan?.name);
  const [dialog, setDialog] = useState<"change" | "delete" | undefined>(undefined);
  const remove = async () => {
    if (await attempt(() => client.deletePlan({ id }))) {
      navigate("/plans");
      showToast("Plan deleted");
    }
  };
  const { isBusy, submit } = useSubmission({ isKept: true });
  const run = () =>
    submit(async () => {
      const isDone = await attempt(() => client.runPlan({ id }), `${toLine(displayName(plan?.owner ?? ""), 60)} gets it now`);
      reload();
      fires.reload();
      return isDone;
    });
  useCommands([
    { id: "run-plan", title: "Run this plan now", group: "Plan", keys: "r", run: () => void run() },
    ...(plan?.status === "pending" ? [{ id: "toggle-plan", title: plan.active ? "Disable this plan" : "Enable this plan", group: "Plan", keys: "p", run: () => toggle(plan) }] : []),
    { id: "change-plan", title: "Change this plan", group: "Plan", keys: "e", run: () => setDialog("change") },
    { id: "delete-plan", title: "Delete this plan", group: "Plan", keys: "#", run: () => setDialog("delete") },
    { id: "all-plans", title: "Back to all plans", group: "Plan", keys: "Escape", run: () => navigate("/plans"), isKeyOnly: true },
  ]);
  if (plan === undefined) return <Unloaded title="Plan" back="/plans" backLabel="All plans" error={error} onRetry={reload} />;
  const { name: status, tone } = describeStatus(plan);
  return (
    <>
      <header class="view-head">
        <a class="icon-button" href="/plans" aria-label="All plans">
          <Icon name="back" />
        </a>
        <h1 class="line-text">
          <Line text={plan.name} limit={100} />
        </h1>
        <span class={`badge ${tone}`}>{status}</span>
        <span class="grow" />
        <button class="button" disabled={isBusy} title="Fire it once now; its schedule stays (r)" onClick={() => void run()}>
          <Icon name="bolt" size={14} /> <span class="hide-phone">Run now</span>
        </button>
        {plan.status === "pending" && (
          <button class="button" title={plan.active ? "Disable (p)" : "Enable (p)"} onClick={() => toggle(plan)}>
            <Icon name={plan.active ? "pause" : "play"} size={14} /> <span class="hide-phone">{plan.active ? "Disable" : "Enable"}</span>
          </button>
        )}
        <button class="button" title={plan.status === "pending" ? "Change (e)" : "Plan again (e)"} onClick={() => setDialog("change")}>
          <Icon name="note" size={14} /> <span class="hide-phone">{plan.status === "pending" ? "Change" : "Plan again"}</span>
        </button>
        <button class="button danger" title="Delete (#)" onClick={() => setDialog("delete")}>
          <Icon name="trash" size={14} /> <span class="hide-phone">Delete</span>
        </button>
      </header>
      <div class="view-body plan-page stack gap-5">
        {plan.status === "pending" && !plan.active && <p class="notice">The plan is disabled now: it does not fire.</p>}
        <PlanFacts plan={plan} />
        {plan.instruction !== "" && (
          <section class="plan-section stack top gap-2" aria-label="Instruction">
            <h2>Instruction</h2>
            <div class="card pad">
              <Markdown text={plan.instruction} />
            </div>
          </section>
        )}
        {plan.status === "pending" && plan.active && plan.nextRunAt !== null && <PlanLine plan={plan} past={fires.value?.items.map(({ firedAt }) => ({ kind: "plan", id, firedAt })) ?? []} />}
        <section class="plan-section stack top gap-2" aria-labelledby="past-fires">
          <h2 id="past-fires">Past runs</h2>
          {fires.value === undefined ? (
            fires.error === undefined ? <Skeleton rows={3} /> : <Failure error={fires.error} onRetry={fires.reload} />
          ) : fires.value.items.length === 0 ? (
            <div class="card">
              <Empty icon="clock" title={plan.fired > 0 ? "Its fires are not remembered any more" : "It has not fired yet"}>
                <p>{plan.fired > 0 ? FORGOTTEN : "When it does, you see it here at once, and what its owner made of it."}</p>
              </Empty>
            </div>
          ) : (
            <PastFires fires={fires.value.items} total={plan.fired} />
          )}
        </section>
      </div>
      {question}
      {dialog === "change" && <PlanDialog plan={plan} onClose={() => setDialog(undefined)} onDone={reload} />}
      {dialog === "delete" && (
        <ConfirmDialog title="Delete this plan?" action="Delete" onClose={() => setDialog(undefined)} onConfirm={remove}>
          “{toLine(plan.name, 80)}” fires no more. The events that it has made stay.
        </ConfirmDialog>
      )}
    </>
  );
}

function PlanFacts({ plan }: { plan: Plan }) {
  return (
    <dl class="fact-line">
      <div>
        <dt>fires</dt>
        <dd title={plan.cron === null ? undefined : `${plan.cron} ${plan.timeZone ?? "UTC"}`}>
          <Line text={describePlan(plan)} />
        </dd>
      </div>
      {plan.onGate !== null && (
        <div>
          <dt>waits for</dt>
          <dd>
            <a class="link" href={buildPath("gates", plan.onGate)}>
              the gate
            </a>
          </dd>
        </div>
      )}
      {plan.nextRunAt !== null && plan.active && plan.status === "pending" && (
        <div>
          <dt>next</dt>
          <dd>
            <NextCountdown time={plan.nextRunAt} />
          </dd>
        </div>
      )}
      <div>
        <dt>for</dt>
        <dd>
          <a class="link" href={buildPath("inbox", plan.owner)}>
            <Line text={displayName(plan.owner)} />
          </a>
        </dd>
      </div>
      <div>
        <dt>fired</dt>
        <dd>
          <a class="link" href="#past-fires" onClick={(event) => (event.preventDefault(), document.getElementById("past-fires")?.scrollIntoView())}>
            {plan.fired} {plan.fired === 1 ? "time" : "times"}
          </a>
        </dd>
      </div>
      {plan.lastRunAt !== null && (
        <div>
          <dt>last</dt>
          <dd title={formatExact(plan.lastRunAt)}>{formatMoment(plan.lastRunAt)}</dd>
        </div>
      )}
      {plan.isRecurring && (
        <div>
          <dt>missed times</dt>
          <dd>{CATCH_UP[plan.catchUp]}</dd>
        </div>
      )}
      <div>
        <dt>made</dt>
        <dd>
          <RelativeTime hasAgo time={plan.createdAt} />
        </dd>
      </div>
    </dl>
  );
}

/** Its own time line, as long as it needs to be to show the next fire. */
function PlanLine({ plan, past }: { plan: Plan; past: readonly { kind: Fire["kind"]; id: string; firedAt: string }[] }) {
  const span = findSpan(plan.nextRunAt);
  const { value, refresh } = useLoad(async (signal) => {
    const { fires, until } = await listNextFires(signal, { owner: plan.owner, within: span ?? "7d" }, [plan], []);
    return { fires: fires.filter((fire) => fire.kind === "plan" && fire.id === plan.id), until };
  }, [plan.id, span ?? "", plan.nextRunAt]);
  useFollow(refresh, isAboutPlans, FIRES_INTERVAL);
  if (span === undefined) return null;
  return (
    <section class="plan-section stack top gap-2" aria-label="Next fires">
      <h2>In the next {SPANS[span].name}</h2>
      <div class="card time-line-card">{value === undefined || value.fires.length === 0 ? <div class="lane" /> : <TimeLine fires={value.fires} until={value.until} past={past} span={span} isSingle />}</div>
    </section>
  );
}
