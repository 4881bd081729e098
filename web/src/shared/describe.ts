/** What entries of the shared inbox are called. */

import type { EntryKind, QuestionStatus, SharedEntry } from "@gatepost/client";

import { listTargets } from "../chat/entry.js";
import { displayName, isAmbiguous } from "../data/live.js";
import type { IconName } from "../ui/icons.js";

export const KINDS: Readonly<Record<EntryKind, { title: string; many: string; icon: IconName }>> = {
  user_prompt: { title: "Prompt", many: "Prompts", icon: "person" },
  system_question: { title: "Question", many: "Questions", icon: "decision" },
  system_response: { title: "Response", many: "Responses", icon: "reply" },
};

const STATUSES: Readonly<Record<QuestionStatus, { text: string; tone: string }>> = {
  pending: { text: "waits", tone: "warn" },
  answered: { text: "answered", tone: "accent" },
  ended: { text: "ended", tone: "" },
};

export function describeStatus(status: QuestionStatus): { text: string; tone: string } {
  return STATUSES[status];
}

/** Return the name of the writer that people see. */
export function describeWriter(entry: SharedEntry): string {
  if (entry.sender !== null) return displayName(entry.sender);
  const name = entry.senderName ?? "Somebody unknown";
  return isAmbiguous(null, name) ? `${name} (${describeStranger(entry)})` : name;
}

/** Return what a writer without a person here is, beside a name that is also somebody's here. */
export function describeStranger(entry: SharedEntry): string {
  return `${describeChannel(entry.channel)} user, not paired`;
}

/** Return to whom a prompt went. */
export function describeTargets(entry: SharedEntry): string {
  const targets = listTargets(entry);
  return targets.length === 0 ? "to nobody" : `to ${targets.map(displayName).join(", ")}`;
}

/** Return a channel as people write it. */
export function describeChannel(channel: string): string {
  return { cli: "Command line", web: "Page", telegram: "Telegram" }[channel] ?? channel;
}
