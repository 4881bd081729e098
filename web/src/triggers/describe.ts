/** Words for triggers, rules and unrouted messages. */

import { writeJson, type UnroutedMessage, type Route, type Trigger, type UnroutedReason } from "@gatepost/client";

import { describeSchedule } from "../plans/describe.js";
import type { IconName } from "../ui/icons.js";
import { toLine } from "../ui/text.js";

export const PROVIDERS: Record<string, { name: string; icon: IconName; what: string }> = {
  webhook: { name: "webhook", icon: "send", what: "a service sends requests" },
  cron: { name: "schedule", icon: "clock", what: "the clock" },
  telegram: { name: "Telegram bot", icon: "space", what: "people write to a bot" },
  service: { name: "service", icon: "bolt", what: "a program calls with a key" },
};

export const SCHEMES = ["header", "bearer", "standard-webhooks", "github", "slack", "stripe"] as const;

export function providerName(provider: string): string {
  return PROVIDERS[provider]?.name ?? provider;
}

export function providerIcon(provider: string): IconName {
  return PROVIDERS[provider]?.icon ?? "bolt";
}

/** Return how something comes through a trigger. */
export function describeTrigger(trigger: Trigger): string {
  if (trigger.schedule !== null) return describeSchedule(trigger.schedule) + (trigger.heartbeat === null ? "" : ", if there is something to do");
  if (trigger.provider === "webhook") return `POST /hooks/${trigger.name}`;
  if (trigger.provider === "telegram") return trigger.mode === "webhook" ? "Telegram calls the gateway" : "the gateway asks Telegram";
  return trigger.provider === "service" ? "calls with a key" : providerName(trigger.provider);
}

export function describeState(trigger: Trigger): { name: string; tone: string } {
  if (trigger.problem !== undefined) return { name: "cannot be used", tone: "danger" };
  if (trigger.error !== null) return { name: "failing", tone: "danger" };
  return trigger.active ? { name: "enabled", tone: "accent" } : { name: "disabled", tone: "" };
}

const REASONS: Record<UnroutedReason, string> = {
  no_route: "no rule, trigger or default has a recipient for it",
  no_target: "nobody is at the address that it should go to",
  missing_metadata: "it lacks what the trigger requires",
};

export function describeReason(reason: UnroutedReason): string {
  return REASONS[reason] ?? reason;
}

/** Return a filter as people write it: payload.repository.name = "shop". */
export function describeFilter(path: string, value: unknown): string {
  return `${path} = ${toLine(writeJson(value) ?? "", 120)}`;
}

/** Return the rules in the order in which they decide. */
export function sortRules(rules: readonly Route[]): Route[] {
  return rules.toSorted((a, b) => b.rank - a.rank || a.createdAt.localeCompare(b.createdAt));
}

export function letterText(letter: UnroutedMessage): string {
  if (letter.content !== "") return letter.content;
  const { payload } = letter;
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) return writeJson(payload ?? null) ?? "";
  return Object.entries(payload)
    .slice(0, 12)
    .map(([name, value]) => `${name} ${typeof value === "string" ? value : writeJson(value)}`)
    .join(", ");
}
