/** Words for what woke an agent. */

const WAKES: Record<string, string> = {
  agent: "an agent",
  alert: "an alert",
  boot: "its start",
  channel: "a message on a channel",
  decision: "an answer to a decision",
  event: "an event",
  gate: "a gate",
  janitor: "what was left over",
  mail: "mail",
  note: "a note",
  plan: "a plan",
  service: "a trigger",
  space_message: "a message in a space",
  system: "a system event",
  tool_result: "the result of a tool",
  wakeup: "somebody who woke it",
};

export function describeWake(cause: string): string {
  return WAKES[cause] ?? (cause.slice(0, 60) || "nothing");
}
