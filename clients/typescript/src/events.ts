/**
 * The events of streams.
 *
 * What is stored has an `id` of its own and comes after a lost connection, too: messages, items, entries, steps. The
 * others are live: only readers of that moment see them.
 */

import type { Decision, Gate, Item, Message, Run, SharedEntry, Step } from "./models.js";

/** A message while the model still writes it. The stored message has the same `streamId` in its `data`. */
export interface StreamingFrame {
  streamId: string;
  runId: string;
  agent: string;
  spaceId: string;
}

/** A reply on a channel while the model still writes it; only the person of the session sees it. */
export interface ReplyFrame {
  streamId: string;
  runId: string;
  agent: string;
  channel: string;
  sessionId: string;
}

/** A resident begins or ends a cycle. */
export interface ActivityFrame {
  agent: string;
  agentName: string;
  runId: string;
  /** The space whose readers this is for, if the gateway says so. */
  spaceId?: string;
  /** The session whose prompts the cycle is about, for the person who wrote them. */
  channel?: string;
  sessionId?: string;
}

/** A resident uses a tool outside. */
export interface ToolFrame {
  toolCallId: string;
  toolName: string;
  runId: string;
  agent: string;
  spaceId?: string;
}

/** A plan was set or has fired; for the administrator. What the gateway does not know is left out. */
export interface PlanFrame {
  id?: string;
  owner?: string;
}

/** A trigger has changed, or a schedule has fired; for the administrator. */
export interface TriggerFrame {
  name: string;
}

/** By the name of an event: its data. */
export interface EventData {
  "space.message": Message;
  "inbox.item": Item;
  "shared.entry": SharedEntry;
  "run.step": Step;
  "run.completed": Run;
  "run.failed": Run;
  "run.cancelled": Run;
  "run.skipped": Run;
  "space.message.streaming": StreamingFrame &
    ({ phase: "start" } | { phase: "delta"; delta: string } | { phase: "done"; messageId: string });
  "space.message.failed": StreamingFrame & { reason: string };
  "shared.entry.streaming": ReplyFrame &
    ({ phase: "start" } | { phase: "delta"; delta: string } | { phase: "done"; entryId: string });
  "shared.entry.failed": ReplyFrame & { reason: string };
  "agent.active": ActivityFrame;
  "agent.inactive": ActivityFrame;
  "tool.started": ToolFrame & { arguments: Record<string, unknown> };
  "tool.streaming": ToolFrame & { delta: string };
  "tool.done": ToolFrame & { result: string };
  "tool.error": ToolFrame & { result: string };
  "run.waiting_tool": (ToolFrame & { arguments: Record<string, unknown>; callId: string }) | Run;
  "decision.asked": Decision;
  "decision.answered": Decision;
  "gate.opened": Gate;
  "gate.resolved": Gate;
  "plan.set": PlanFrame;
  "plan.fired": PlanFrame;
  "trigger.added": TriggerFrame;
  "trigger.changed": TriggerFrame;
  "trigger.deleted": TriggerFrame;
  "trigger.fired": TriggerFrame;
  "trigger.working": TriggerFrame;
  "trigger.failing": TriggerFrame;
}

/** An event of a stream; `id` is where to resume after it. A later gateway may send others. */
export type GatepostEvent = {
  [Name in keyof EventData]: { event: Name; data: EventData[Name]; id: string };
}[keyof EventData];
