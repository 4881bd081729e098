/** What an agent does now, in a word. */

import type { Agent } from "@gatepost/client";

import { formatClock, formatDay, formatExact } from "../ui/time.js";

export function AgentBadge({ agent, runId }: { agent: Agent; runId: string | undefined }) {
  const { tone, text, title } = describe(agent, runId);
  return (
    <span class={`badge ${tone}`} title={title}>
      {text}
    </span>
  );
}

/** Whether an agent waits for the next period of its budget. After a failure it waits too, but its failures are counted. */
export function hasUsedUpBudget(agent: Agent): boolean {
  return isResting(agent) && agent.failures === 0;
}

/** Return the end of a rest by the clock of the reader, with its day if that is not today. */
export function formatRest(time: string): string {
  const isToday = new Date(time).toDateString() === new Date().toDateString();
  return isToday ? formatClock(time) : `${formatDay(time)} ${formatClock(time)}`;
}

function isResting({ restUntil }: Agent): boolean {
  return restUntil !== null && Date.parse(restUntil) > Date.now();
}

function describe(agent: Agent, runId: string | undefined): { tone: string; text: string; title?: string } {
  if (agent.retiredAt !== null) return { tone: "", text: "retired", title: formatExact(agent.retiredAt) };
  if (runId !== undefined && agent.paused) return { tone: "warn", text: "stops after this step", title: "It was paused while it was thinking" };
  if (runId !== undefined) return { tone: "accent", text: "thinking" };
  if (agent.paused) return { tone: "warn", text: "paused", title: agent.pausedAt ? `since ${formatExact(agent.pausedAt)}` : "" };
  if (hasUsedUpBudget(agent) && agent.restUntil !== null) {
    return { tone: "danger", text: `budget used up until ${formatRest(agent.restUntil)}`, title: `until ${formatExact(agent.restUntil)}` };
  }
  if (isResting(agent) && agent.restUntil !== null) {
    return { tone: "danger", text: "waiting to retry", title: `until ${formatExact(agent.restUntil)}` };
  }
  return agent.resident ? { tone: "", text: "asleep", title: "It wakes when its inbox has an item" } : { tone: "", text: "guest" };
}
