/**
 * What the whole page shows: spaces with unread messages, agents and who thinks, open decisions, the size of the inbox,
 * and the people of this gateway. All of it follows the feed.
 */

import { AgentsStore, DecisionsStore, type Account, type Entity, type GatepostEvent } from "@gatepost/client";
import { computed, signal } from "@preact/signals";

import { foldName, isDisguised } from "../ui/alike.js";
import { queuedDecisions } from "./answer-queue.js";
import { feed, feedStatus, follow, isOffline, onEvent, onOpen, startFeed } from "./feed.js";
import { client, me, noticeFailure } from "./session.js";
import { loadSpaces, startSpaces } from "./spaces.js";
import { toSignal } from "./store.js";

/** What no event tells is asked for this often. */
const REFRESH_INTERVAL = 20_000;

export const agentsStore = new AgentsStore(client, { feed });
export const decisionsStore = new DecisionsStore(client, { feed, pending: true });
export const agents = toLazy(() => toSignal(agentsStore));
export const decisions = toLazy(() => toSignal(decisionsStore));

export const entities = signal<readonly Entity[]>([]);
export const people = computed(() => entities.value.filter((entity) => entity.kind === "human"));
export const account = signal<Account | undefined>(undefined);

/** Decisions that wait for the person, the most urgent first. */
export const ownDecisions = computed(() =>
  decisions()
    .value.decisions.filter((decision) => decision.asked.includes(me.value) && decision.status === "pending" && !queuedDecisions.value.has(decision.id) && !snoozedDecisions.value.has(decision.id))
    .toSorted((a, b) => a.urgency - b.urgency || a.createdAt.localeCompare(b.createdAt)),
);

/** The ids of decisions whose questions the person has snoozed. */
export const snoozedDecisions = signal<ReadonlySet<string>>(new Set());

const entityByName = computed(() => new Map(entities.value.map((entity) => [entity.name, entity])));

export function findEntity(name: string): Entity | undefined {
  return entityByName.value.get(name);
}

/** The unique names of those whose names look alike, by what they have in common. */
const namesByLook = computed(() => {
  const names = new Map<string, Set<string>>();
  for (const { name, displayName } of entities.value) {
    for (const look of new Set([foldName(name), foldName(displayName)])) names.set(look, (names.get(look) ?? new Set()).add(name));
  }
  return names;
});

/** Whether a name that people see could be that of somebody else; `name` is null for who is no entity here. */
export function isAmbiguous(name: string | null, label: string): boolean {
  const names = namesByLook.value.get(foldName(label));
  return isDisguised(label) || (names !== undefined && (names.size > 1 || name === null || !names.has(name)));
}

/** Return the name that people see, with the unique one if it looks like that of somebody else. */
export function displayName(name: string): string {
  return addUniqueName(name, findEntity(name)?.displayName ?? name);
}

export function addUniqueName(name: string, label: string): string {
  return label !== name && isAmbiguous(name, label) ? `${label} (@${name})` : label;
}

/** Whether an agent thinks now. */
export function isThinking(name: string): boolean {
  return agents().value.runs[name] !== undefined;
}

export function startLive(): void {
  startFeed();
  startSpaces();
  void loadEntities();
  agents();
  decisions();
  onOpen(() => void refreshAccount());
  follow((event) => isAboutInbox(event, me.value), () => void refreshAccount());
  onEvent(({ event, data }) => {
    if (event === "inbox.changed" && data.recipient === me.value && /^(snooze|return)$/.test(data.cause)) void loadSnoozedDecisions();
  });
  onOpen(() => void loadSnoozedDecisions());
  let isRefreshing = false;
  const refresh = async () => {
    if (document.hidden || isOffline.value || isRefreshing) return;
    isRefreshing = true;
    const stores = feedStatus.value === "open" ? [agentsStore.refresh(), decisionsStore.refresh()] : [];
    await Promise.allSettled([refreshAccount(), loadSpaces(), loadEntities(), ...stores]);
    isRefreshing = false;
  };
  setInterval(() => void refresh(), REFRESH_INTERVAL);
  document.addEventListener("visibilitychange", () => void refresh());
  addEventListener("online", () => void refresh());
}

/** Whether an event is about the items of somebody's inbox. */
export function isAboutInbox({ event, data }: GatepostEvent, name: string): boolean {
  return (event === "inbox.item" || event === "inbox.changed") && data.recipient === name;
}

/** Count the items of the person's inbox again. */
export async function refreshAccount(): Promise<void> {
  try {
    account.value = await client.showAccount({ name: me.value });
  } catch (error) {
    noticeFailure(error);
  }
}

/** Load which questions the person has snoozed. */
export async function loadSnoozedDecisions(): Promise<void> {
  try {
    const { items } = await client.listInbox({ name: me.value, type: "decision", state: "pending", hidden: true, limit: 1000 });
    snoozedDecisions.value = new Set(items.map(({ data }) => (data as { decisionId?: string } | null)?.decisionId ?? ""));
  } catch (error) {
    noticeFailure(error);
  }
}

export async function loadEntities(): Promise<void> {
  try {
    const list: Entity[] = [];
    for await (const entity of client.pages(client.listEntities, {})) list.push(entity);
    entities.value = list;
  } catch (error) {
    noticeFailure(error);
  }
}

/** A value that is made when it is first asked for: a store opens the feed at once. */
function toLazy<Value>(create: () => Value): () => Value {
  let value: Value | undefined;
  return () => (value ??= create());
}
