/** One line of a list of plans: what it says, to whom, when it fires, and how often it has. */

import type { Plan } from "@gatepost/client";

import { displayName, findEntity } from "../data/live.js";
import { buildPath } from "../router.js";
import { Name } from "../ui/name.js";
import { Avatar, Line } from "../ui/parts.js";
import { plural } from "../ui/text.js";
import { formatExact, formatRelative, now, RelativeTime } from "../ui/time.js";
import { describePlan, describeStatus } from "./describe.js";
import { justFired } from "./follow.js";

export function PlanRow({ plan, isSelected }: { plan: Plan; isSelected: boolean }) {
  const { name: status, tone } = describeStatus(plan);
  const isDue = plan.nextRunAt !== null && Date.parse(plan.nextRunAt) <= now.value;
  const isDisabled = plan.status === "pending" && !plan.active;
  const classes = ["row is-tall plan-row", isSelected ? "is-selected" : "", isDisabled ? "is-disabled" : "", justFired.value.has(plan.id) ? "is-firing" : ""];
  return (
    <a class={classes.join(" ")} href={buildPath("plans", plan.id)}>
      <div class="stack">
        <Line text={plan.name} class="plan-name strong" />
        <Line text={plan.instruction} class="muted" />
      </div>
      <span class="plan-who line phone-2-1">
        <Avatar name={displayName(plan.owner)} kind={findEntity(plan.owner)?.kind ?? "agent"} isSmall />
        <Name name={plan.owner} />
      </span>
      <span class="plan-when stack muted" title={plan.cron === null ? describePlan(plan) : `${describePlan(plan)} (${plan.cron} ${plan.timeZone ?? "UTC"})`}>
        <Line text={describePlan(plan)} />
      </span>
      <span class="stack end">
        {plan.status === "pending" && plan.active && plan.nextRunAt !== null ? (
          <time class={`number ${isDue ? "is-due" : ""}`} dateTime={plan.nextRunAt} title={formatExact(plan.nextRunAt)}>
            {isDue ? "due now" : formatRelative(plan.nextRunAt, now.value)}
          </time>
        ) : (
          <span class={`badge ${tone}`}>{status}</span>
        )}
        <span class="number muted xs" title={`It has fired ${plural(plan.fired, "time")}`}>
          {plan.endedAt === null ? (plan.fired === 0 ? "not fired yet" : `fired ${plan.fired.toLocaleString("en")}×`) : <RelativeTime hasAgo time={plan.endedAt} />}
        </span>
      </span>
    </a>
  );
}
