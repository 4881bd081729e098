/** Words for runs. */

import type { Run } from "@gatepost/client";

const CAUSES: Record<string, string> = {
  agent: "woke for an agent",
  alert: "woke for an alert",
  boot: "woke at start",
  channel: "woke for a message on a channel",
  decision: "woke for an answer",
  event: "woke for an event",
  gate: "woke for a gate",
  janitor: "woke for what was left",
  mail: "woke for mail",
  note: "woke for a note",
  plan: "woke for a plan",
  service: "woke for a trigger",
  space_message: "woke for a message",
  system: "woke for a system event",
  tool_result: "woke for a tool result",
  wakeup: "was woken",
};

export function describeCause(cause: string): string {
  return CAUSES[cause] ?? `woke: ${cause.slice(0, 60)}`;
}

export function runTone(run: Pick<Run, "status">): string {
  switch (run.status) {
    case "running":
      return "accent";
    case "failed":
      return "danger";
    case "waiting_tool":
      return "warn";
    default:
      return "";
  }
}

export function describeStatus(run: Pick<Run, "status" | "limit">): string {
  const name = run.status.replace("_", " ");
  if (run.limit === "pause") return "ended by a pause";
  return run.limit === null ? name : `${name} at its limit of ${run.limit}`;
}
