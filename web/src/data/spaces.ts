/** Spaces, their members, and how many messages the person has not read. */

import type { Member, Message, Space } from "@gatepost/client";
import { computed, signal } from "@preact/signals";

import { onEvent, onOpen } from "./feed.js";
import { client, isAdministrator, me, noticeFailure } from "./session.js";

export interface SpaceEntry extends Space {
  members: readonly Member[];
  /** Whether the person is in it. */
  isMember: boolean;
  unread: number;
}

/** Spaces whose members are loaded before they are opened, and requests under way at once. */
const MAX_PREPARED = 40;
const MAX_REQUESTS = 3;

const list = signal<readonly Omit<SpaceEntry, "members">[] | undefined>(undefined);
const membersById = signal<ReadonlyMap<string, readonly Member[]>>(new Map());

/** All spaces that the person may see, the person's own first; undefined until they are loaded. */
export const spaces = computed<readonly SpaceEntry[] | undefined>(() =>
  list.value
    ?.filter((space) => space.archivedAt === null)
    .map((space) => ({ ...space, members: membersById.value.get(space.id) ?? [] }))
    .toSorted((a, b) => Number(b.isMember) - Number(a.isMember) || a.name.localeCompare(b.name)),
);

export const unreadCount = computed(() => (spaces.value ?? []).reduce((sum, space) => sum + space.unread, 0));

export function startSpaces(): void {
  onOpen(() => void loadSpaces());
  onEvent(({ event, data }) => {
    if (event === "space.message") noteMessage(data);
  });
}

export async function loadSpaces(): Promise<void> {
  try {
    const own = new Map<string, number>();
    const found: Space[] = [];
    for await (const space of client.pages(client.listSpaces, { member: me.value })) {
      own.set(space.id, space.unread ?? 0);
      if (!isAdministrator.value) found.push(space);
    }
    if (isAdministrator.value) for await (const space of client.pages(client.listSpaces, {})) found.push(space);
    const before = new Set(list.value?.map((space) => space.id));
    list.value = found.map((space) => ({ ...space, isMember: own.has(space.id), unread: own.get(space.id) ?? 0 }));
    const queue = found.map((space) => space.id).filter((id) => !before.has(id)).slice(0, MAX_PREPARED);
    const work = async () => {
      for (let id = queue.shift(); id !== undefined; id = queue.shift()) await loadMembers(id);
    };
    await Promise.all(Array.from({ length: MAX_REQUESTS }, work));
  } catch (error) {
    list.value ??= [];
    noticeFailure(error);
  }
}

/** Load who is in a space, and so whether the person is. */
export async function loadMembers(id: string): Promise<void> {
  const { items } = await client.listMembers({ id });
  membersById.value = new Map(membersById.value).set(id, items);
  const isMember = items.some((member) => member.name === me.value);
  change(id, (space) => (space.isMember === isMember ? space : { ...space, isMember }));
}

/** Record that the person has read up to a message. */
export function noteRead(id: string, seq: number): void {
  change(id, (space) => ({ ...space, unread: Math.max(0, space.lastSeq - seq) }));
  void client.markRead({ id, seq, name: me.value }).catch(() => undefined);
}

function noteMessage(message: Message): void {
  change(message.space, (space) => {
    if (message.seq <= space.lastSeq) return space;
    const isOther = space.isMember && message.sender !== me.value;
    return { ...space, lastSeq: message.seq, unread: isOther ? space.unread + 1 : space.unread };
  });
}

function change(id: string, update: (space: Omit<SpaceEntry, "members">) => Omit<SpaceEntry, "members">): void {
  list.value = list.value?.map((space) => (space.id === id ? update(space) : space));
}
