// Written by tools/typescript.py from the operations of the gateway; change those instead.

import type {
  AgentActivity,
  Decision,
  Gate,
  InboxChange,
  Item,
  Message,
  MessageDelta,
  MessageDone,
  MessageFailed,
  MessageStart,
  PlanChange,
  ReplyDelta,
  ReplyDone,
  ReplyFailed,
  ReplyStart,
  Run,
  SharedEntry,
  Step,
  ToolDelta,
  ToolResult,
  ToolStarted,
  ToolWaiting,
  TriggerChange,
} from "./models.js";

/**
 * By the name of an event: its data. What is stored has an `id` of its own and comes after a lost connection, too:
 * messages, items, entries, steps. The others are live: only readers of that moment see them.
 */
export interface EventData {
  "space.message": Message;
  "space.message.streaming": MessageStart | MessageDelta | MessageDone;
  "space.message.failed": MessageFailed;
  "inbox.item": Item;
  "inbox.changed": InboxChange;
  "shared.entry": SharedEntry;
  "shared.entry.streaming": ReplyStart | ReplyDelta | ReplyDone;
  "shared.entry.failed": ReplyFailed;
  "run.step": Step;
  "run.waiting_tool": ToolWaiting | Run;
  "run.completed": Run;
  "run.skipped": Run;
  "run.failed": Run;
  "run.cancelled": Run;
  "agent.active": AgentActivity;
  "agent.inactive": AgentActivity;
  "tool.started": ToolStarted;
  "tool.streaming": ToolDelta;
  "tool.done": ToolResult;
  "tool.error": ToolResult;
  "decision.asked": Decision;
  "decision.answered": Decision;
  "gate.opened": Gate;
  "gate.resolved": Gate;
  "plan.set": PlanChange;
  "plan.fired": PlanChange;
  "trigger.added": TriggerChange;
  "trigger.changed": TriggerChange;
  "trigger.deleted": TriggerChange;
  "trigger.fired": TriggerChange;
  "trigger.working": TriggerChange;
  "trigger.failing": TriggerChange;
}

/** An event of a stream; `id` is where to resume after it. A later gateway may send others. */
export type GatepostEvent = {
  [Name in keyof EventData]: { event: Name; data: EventData[Name]; id: string };
}[keyof EventData];
