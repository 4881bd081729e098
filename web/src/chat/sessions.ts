/** The sessions of the person on the page: what was said last, whether it was seen, and whom it is with. */

import type { ChannelSession, SharedEntry } from "@gatepost/client";
import { computed, signal } from "@preact/signals";

import { onEvent, onOpen } from "../data/feed.js";
import { client, me, noticeFailure } from "../data/session.js";
import { readSetting, writeSetting } from "../settings.js";
import { CHANNEL, isOwn, parseBase } from "./session-id.js";

export interface ChatSession {
  /** With its generation. */
  id: string;
  lastAt: string;
  /** What was said last; undefined until it is loaded, null if nothing was said since it began. */
  last: SharedEntry | null | undefined;
  isUnread: boolean;
  /** Questions that wait for the person. */
  questions: number;
}

/** Entries from which the last words of most sessions are taken, and sessions that are asked for theirs. */
const RECENT = 100;
const MAX_ASKED = 30;
const MAX_QUESTIONS = 1000;

const list = signal<readonly ChannelSession[] | undefined>(undefined);
const lastEntries = signal<ReadonlyMap<string, SharedEntry | null>>(new Map());
const pending = signal<ReadonlyMap<string, SharedEntry>>(new Map());
const seen = signal<Readonly<Record<string, number>>>(readNumbers());

export const error = signal<Error | undefined>(undefined);

/** The sessions, the last one that was used first; undefined until they are loaded. */
export const sessions = computed<readonly ChatSession[] | undefined>(() =>
  list.value
    ?.map((session) => {
      const last = lastEntries.value.get(session.sessionId);
      const questions = [...pending.value.values()].filter((entry) => entry.sessionId === session.sessionId).length;
      return {
        id: session.sessionId,
        lastAt: !last || last.createdAt < session.lastAt ? session.lastAt : last.createdAt,
        last,
        isUnread: !!last && last.sender !== me.value && last.seq > (seen.value[parseBase(session.sessionId)] ?? 0),
        questions,
      };
    })
    .toSorted((a, b) => b.lastAt.localeCompare(a.lastAt)),
);

/** Load the sessions and follow them; return the function that ends it. */
export function followSessions(): () => void {
  const ends = [onOpen(() => void loadSessions()), onEvent(({ event, data }) => event === "shared.entry" && receive(data))];
  void loadSessions();
  return () => ends.forEach((end) => end());
}

export async function loadSessions(): Promise<void> {
  try {
    const found: ChannelSession[] = [];
    for await (const session of client.pages(client.listChannelSessions, { channel: CHANNEL, person: me.value })) found.push(session);
    const [recent, questions] = await Promise.all([
      client.listSharedEntries({ channel: CHANNEL, newest: true, limit: RECENT }),
      client.listSharedEntries({ channel: CHANNEL, newest: true, pending: true, limit: MAX_QUESTIONS }),
    ]);
    list.value = found.filter((session) => isOwn(session.sessionId));
    lastEntries.value = new Map([...lastEntries.value, ...recent.items.filter((entry) => isOwn(entry.sessionId)).map((entry) => [entry.sessionId, entry] as const)]);
    pending.value = new Map(questions.items.filter((entry) => isOwn(entry.sessionId)).map((entry) => [entry.id, entry]));
    error.value = undefined;
    await loadLastEntries();
  } catch (failure) {
    noticeFailure(failure);
    error.value = failure as Error;
  }
}

/** Load what was said last in sessions where it was said long ago. */
async function loadLastEntries(): Promise<void> {
  const unknown = (sessions.value ?? []).filter((session) => session.last === undefined).slice(0, MAX_ASKED);
  for (const { id } of unknown) {
    const { items } = await client.listSharedEntries({ channel: CHANNEL, session: id, newest: true, limit: 1 });
    lastEntries.value = new Map(lastEntries.value).set(id, items[0] ?? null);
  }
}

/** Record that a session was read up to an entry. */
export function noteSeen(id: string, seq: number): void {
  const base = parseBase(id);
  if ((seen.value[base] ?? 0) >= seq) return;
  seen.value = { ...seen.value, [base]: seq };
  writeSetting("chat-seen", JSON.stringify(seen.value));
}

/** Return the agent that the person has chosen in a session; null if the rules decide. */
export function readRecipient(id: string): string | null | undefined {
  const value = readSetting(`chat-to:${parseBase(id)}`);
  return value === null ? undefined : value === "" ? null : value;
}

export function writeRecipient(id: string, name: string | null): void {
  writeSetting(`chat-to:${parseBase(id)}`, name ?? "");
}

function receive(entry: SharedEntry): void {
  if (entry.channel !== CHANNEL || !isOwn(entry.sessionId)) return;
  const last = lastEntries.value.get(entry.sessionId);
  if (!last || last.seq <= entry.seq) lastEntries.value = new Map(lastEntries.value).set(entry.sessionId, entry);
  const questions = new Map(pending.value);
  if (entry.status === "pending") questions.set(entry.id, entry);
  else questions.delete(entry.id);
  pending.value = questions;
  if (list.value?.some((session) => session.sessionId === entry.sessionId) !== true) void loadSessions();
}

function readNumbers(): Record<string, number> {
  try {
    const value: unknown = JSON.parse(readSetting("chat-seen") ?? "{}");
    return typeof value === "object" && value !== null ? (value as Record<string, number>) : {};
  } catch {
    return {};
  }
}
