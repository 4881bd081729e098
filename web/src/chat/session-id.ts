/**
 * The ids of sessions of the page.
 *
 *     web-main            of the administrator
 *     web-husam           of another person
 *     web-husam@travel    another session of the same person
 *     ...:reset-2         the same session, reset twice
 */

import { displayName } from "../data/live.js";
import { isAdministrator, me } from "../data/session.js";
import { toLine } from "../ui/text.js";

export const CHANNEL = "web";

const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const GENERATION = /^(.+):reset-(\d+)$/;

/** Return a session without its generation. */
export function parseBase(id: string): string {
  return GENERATION.exec(id)?.[1] ?? id;
}

/** Return how often a session was reset. */
export function parseGeneration(id: string): number {
  return Number(GENERATION.exec(id)?.[2] ?? 0);
}

/** Return the session before its last reset; undefined if it was never reset. */
export function findEarlier(id: string): string | undefined {
  const generation = parseGeneration(id);
  if (generation === 0) return undefined;
  return generation === 1 ? parseBase(id) : `${parseBase(id)}:reset-${generation - 1}`;
}

/** Return a session of the person; without a name the first one. */
export function buildSession(name?: string): string {
  const owner = isAdministrator.value ? "main" : me.value === "main" ? "@main" : me.value;
  return `${CHANNEL}-${owner}${name === undefined ? "" : `@${name}`}`;
}

/** Whether a session is one of the person. */
export function isOwn(id: string): boolean {
  const base = parseBase(id);
  return base === buildSession() || base.startsWith(`${buildSession()}@`);
}

/** Return the name of a session of the person, as requests have it; undefined for the first one. */
export function parseName(id: string): string | undefined {
  const base = parseBase(id);
  return base === buildSession() ? undefined : base.slice(buildSession().length + 1);
}

/** Return the title that people see. */
export function describeSession(id: string): string {
  const name = isOwn(id) ? parseName(id) : id;
  return name === undefined ? "Main" : toLine(displayName(name), 80);
}

/** Return a name for a session that is like a text; empty if there is none. */
export function toSessionName(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+|[._-]+$/g, "")
    .slice(0, 63);
  return isSessionName(name) ? name : "";
}

export function isSessionName(text: string): boolean {
  return NAME.test(text) && text !== "all";
}
