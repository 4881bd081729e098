/** What belongs to an item: the other mail of its thread, or the other notes on its work item. */

import type { Item, ListNotes } from "@gatepost/client";
import { useEffect } from "preact/hooks";

import { follow } from "../data/feed.js";
import { displayName, findEntity } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client, me } from "../data/session.js";
import { Markdown } from "../ui/markdown.js";
import { Name } from "../ui/name.js";
import { Avatar } from "../ui/parts.js";
import { RelativeTime } from "../ui/time.js";

const LIMIT = 50;
const PAGE_LENGTH = 500;

interface Letter {
  id: string;
  eventId: string | null;
  sender: string;
  text: string;
  createdAt: string;
}

/** `revision` counts the replies that were sent from here. */
export function Thread({ item, revision }: { item: Item; revision: number }) {
  const { value, reload, refresh } = useLoad((signal) => loadThread(item, signal), [item.recipient, item.eventId]);
  useEffect(() => void (revision > 0 && reload()), [revision]);
  useEffect(() => follow(({ event, data }) => event === "inbox.item" && data.recipient === item.recipient && data.type === item.type, refresh), [item.recipient, item.type]);
  const letters = (value ?? []).filter((letter) => letter.eventId !== item.eventId);
  if (letters.length === 0) return null;
  return (
    <section class="stack gap-2" aria-labelledby="thread">
      <h3 id="thread" class="sm">
        {item.type === "note" ? "Other notes" : "In this thread"}
      </h3>
      <ol class="thread stack gap-3">
        {letters.map((letter) => (
          <li key={letter.id} class="thread-letter card pad stack gap-2">
            <p class="line gap-2 sm">
              <Avatar name={displayName(letter.sender)} kind={findEntity(letter.sender)?.kind ?? "agent"} isSmall />
              {letter.sender === me.value ? <span class="strong grow">You</span> : <Name name={letter.sender} class="strong grow" />}
              <span class="muted">
                <RelativeTime time={letter.createdAt} />
              </span>
            </p>
            <Markdown text={letter.text} />
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Return the last letters of a thread, the oldest first, as the recipient of an item sees them. */
async function loadThread(item: Item, signal: AbortSignal): Promise<readonly Letter[]> {
  if (item.type === "note" && item.ref !== null) {
    const notes: Letter[] = [];
    const request = { type: item.ref.type as ListNotes["type"], id: item.ref.id, limit: PAGE_LENGTH };
    for await (const note of client.pages(client.listNotes, request, { signal })) notes.push(note);
    return notes.slice(-LIMIT);
  }
  const thread = (item.data as { threadId?: unknown } | null)?.threadId;
  if (item.type !== "mail" || typeof thread !== "string" || thread.length > 256) return [];
  const { items } = await client.listMail({ box: "thread", thread, sender: item.recipient, limit: LIMIT }, { signal });
  return items.toReversed();
}
