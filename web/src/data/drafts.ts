/**
 * Drafts: what was written and not sent yet, or sent and not stored yet. The tab keeps them, so that they are there after
 * a reload, and for their writer alone (`keepTabFor` in `session.ts`).
 */

import type { SentMessage, SpaceStore } from "@gatepost/client";
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";

const PREFIX = "gatepost:draft:";
const UNSENT_PREFIX = "unsent:";
/** Also for a browser that stores nothing, and for a text that is too large for it. */
const drafts = new Map<string, string>();
/** Counts when a draft comes or goes, for who shows that there is one. */
const revision = signal(0);

export function readDraft(id: string): string | undefined {
  void revision.value;
  try {
    return drafts.get(id) ?? sessionStorage.getItem(PREFIX + id) ?? undefined;
  } catch {
    return drafts.get(id);
  }
}

/** Keep a draft; one that is undefined or empty is forgotten. */
export function writeDraft(id: string, text: string | undefined): void {
  const isKnown = readDraft(id) !== undefined;
  if (text) drafts.set(id, text);
  else drafts.delete(id);
  try {
    sessionStorage.removeItem(PREFIX + id);
    if (text) sessionStorage.setItem(PREFIX + id, text);
  } catch {
    // a private window, or no room
  }
  if (isKnown !== Boolean(text)) revision.value += 1;
}

/** Return the messages of a space that this tab has sent and that were not stored when it was left. */
export function readUnsent(space: string): SentMessage[] {
  const messages = JSON.parse(readDraft(UNSENT_PREFIX + space) ?? "[]") as (Omit<SentMessage, "error"> & { error?: string })[];
  return messages.map(({ error, ...message }) => ({ ...message, error: error === undefined ? undefined : new Error(error) }));
}

/** Keep what a space has sent and not stored, at once: the draft of it is gone. Return the function that ends it. */
export function keepUnsent(space: string, store: SpaceStore): () => void {
  let { sent } = store.state;
  return store.subscribe(() => {
    if (store.state.sent === sent) return;
    sent = store.state.sent;
    const kept = sent.map(({ error, ...message }) => ({ ...message, error: error?.message }));
    writeDraft(UNSENT_PREFIX + space, kept.length === 0 ? undefined : JSON.stringify(kept));
  });
}

/** The text of a field, which is kept until it is sent: `undefined` forgets it. Without a draft it is `initial`. */
export function useDraft(id: string, initial = ""): [string, (text: string | undefined) => void] {
  const [text, setText] = useState(() => readDraft(id) ?? initial);
  const change = (value: string | undefined) => {
    setText(value ?? initial);
    writeDraft(id, value === initial ? undefined : value);
  };
  return [text, change];
}
