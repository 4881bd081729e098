/** Words for runs. */

import type { EventType, Run, RunStatus } from "@gatepost/client";

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

/** What a run can be filtered by, with its words. */
export const RUN_CAUSES: readonly EventType[] = ["space_message", "mail", "plan", "service", "channel", "decision", "gate", "alert", "note", "tool_result", "event", "agent", "system"];
export const RUN_STATUSES: readonly (readonly [RunStatus, string])[] = [
  ["running", "running"],
  ["waiting_tool", "waiting for a tool"],
  ["completed", "completed"],
  ["skipped", "skipped"],
  ["failed", "failed"],
  ["cancelled", "cancelled"],
];

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
  const name = RUN_STATUSES.find(([status]) => status === run.status)?.[1] ?? run.status;
  if (run.limit === "pause") return "ended by a pause";
  return run.limit === null ? name : `${name}: ${run.limit} limit reached`;
}
