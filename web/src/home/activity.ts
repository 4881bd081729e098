/** What happened lately: messages of people, runs of agents, and decisions. */

import type { Decision, Message, Recent, Run } from "@gatepost/client";

import { describeCause } from "../agents/describe.js";
import { addUniqueName, displayName } from "../data/live.js";
import { describeOutcome } from "../decisions/answers.js";
import { buildPath } from "../router.js";
import type { IconName } from "../ui/icons.js";

export interface ActivityEntry {
  id: string;
  at: string;
  icon: IconName;
  who: string;
  what: string;
  text: string;
  href: string;
}

/** Return what happened, the newest first. To who sees the runs of all agents, those say what the agents wrote. */
export function listActivity({ runs, decisions, messages }: Recent, seesRuns: boolean): ActivityEntry[] {
  const posts = messages.filter((message) => message.senderType === "human" || !seesRuns);
  // Who is thinking is shown above; who skipped has looked, and nothing was for it.
  const wakes = runs.filter((run) => run.status !== "skipped" && run.status !== "running");
  const entries = [...wakes.map(describeRun), ...decisions.map(describeDecision), ...posts.map(describeMessage)];
  return entries.sort((a, b) => b.at.localeCompare(a.at));
}

function describeRun(run: Run): ActivityEntry {
  const isFailed = run.status === "failed";
  return {
    id: run.id,
    at: run.endedAt ?? run.startedAt,
    icon: isFailed ? "alert" : "agent",
    who: displayName(run.agent),
    what: isFailed ? "failed" : describeCause(run.cause),
    text: isFailed ? (run.error ?? "") : run.summary,
    href: buildPath("runs", run.id),
  };
}

function describeDecision(decision: Decision): ActivityEntry {
  const { answer } = decision;
  return {
    id: decision.id,
    at: answer?.at ?? decision.createdAt,
    icon: "decision",
    who: answer?.by ? displayName(answer.by) : displayName(decision.asker),
    what: answer === null ? "asked" : `${answer.outcome} a decision`,
    text: answer === null ? decision.question.slice(0, 300) : `${describeOutcome(decision)} (${decision.question.slice(0, 160)})`,
    href: buildPath("decisions", decision.id),
  };
}

function describeMessage(message: Message): ActivityEntry {
  return {
    id: message.id,
    at: message.createdAt,
    icon: "space",
    who: addUniqueName(message.sender, message.senderName),
    what: `wrote in #${message.space}`,
    text: message.content.slice(0, 300),
    href: buildPath("spaces", message.space),
  };
}
