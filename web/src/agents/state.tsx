/** What an agent does now, in a word. */

import type { Agent } from "@gatepost/client";

import { formatExact } from "../ui/time.js";

export function AgentBadge({ agent, runId }: { agent: Agent; runId: string | undefined }) {
  const { tone, text, title } = describe(agent, runId);
  return (
    <span class={`badge ${tone}`} title={title}>
      {text}
    </span>
  );
}

function describe(agent: Agent, runId: string | undefined): { tone: string; text: string; title?: string } {
  if (agent.retiredAt !== null) return { tone: "", text: "retired", title: formatExact(agent.retiredAt) };
  if (runId !== undefined && agent.paused) return { tone: "warn", text: "stops after this step", title: "It was paused while it was thinking" };
  if (runId !== undefined) return { tone: "accent", text: "thinking" };
  if (agent.paused) return { tone: "warn", text: "paused", title: agent.pausedAt ? `since ${formatExact(agent.pausedAt)}` : "" };
  if (agent.restUntil !== null && Date.parse(agent.restUntil) > Date.now()) {
    return { tone: "danger", text: "waiting to retry", title: `until ${formatExact(agent.restUntil)}` };
  }
  return agent.resident ? { tone: "", text: "asleep", title: "It wakes when its inbox has an item" } : { tone: "", text: "guest" };
}
