/**
 * A space: its messages, those that are being written, and those that are being sent.
 *
 * Stored messages are known by their number, so a message that comes twice (from the feed, a page, or as the answer to
 * a post) is shown once. A sent message is shown at once and replaced by the stored one; it keeps one idempotency key,
 * so sending it again cannot double it. Messages are sent one after the other, so they are stored in their order.
 *
 * The last message may be known before those before it, such as one's own. What is between is loaded: `#completeSeq` is
 * the number up to which nothing is missing.
 *
 * The feed of a page may leave out a space, if there are very many. Such a space has a stream of its own.
 */

import type { GatepostClient } from "../client.js";
import type { GatepostEvent } from "../events.js";
import { Feed, type OpenStream } from "../feed.js";
import type { Message } from "../models.js";
import { createKey } from "../request.js";
import { findQueue, type SendQueue } from "../send-queue.js";
import { SpaceFeed } from "./space-feed.js";
import { INITIAL_STATE, Store, type StoreState } from "./store.js";

/** A message that an agent writes now. */
export interface StreamingMessage {
  streamId: string;
  agent: string;
  runId: string;
  text: string;
  /** Whether its beginning was missed. */
  isPartial: boolean;
}

/** A message that was sent from here and is not stored yet. */
export interface SentMessage {
  /** Its idempotency key. */
  key: string;
  content: string;
  createdAt: string;
  /** Why it was not stored; undefined while it is being sent. */
  error: Error | undefined;
}

export interface SpaceState extends StoreState {
  /** Stored messages, oldest first. */
  messages: readonly Message[];
  /** By the id of their stream: messages that agents write now. */
  streams: Readonly<Record<string, StreamingMessage>>;
  /** Messages that are being sent or have failed, in the order of sending. */
  sent: readonly SentMessage[];
  /** Agents in the midst of a cycle. */
  activeAgents: readonly string[];
  /** Whether any stream is active. */
  isRunning: boolean;
  hasOlder: boolean;
}

export interface SpaceOptions {
  /** The feed of the page; without it, the store opens the stream of the space. */
  feed?: Feed;
  /** Changes how the stream of the space alone is opened, such as to close it while nobody looks. */
  adaptStream?: (open: OpenStream) => OpenStream;
  /** The member that the administrator reads and writes as. */
  member?: string;
  /** Messages of a page. */
  limit?: number;
  /** Messages that an earlier store of this space has left in `sent`, such as before a reload. */
  unsent?: readonly SentMessage[];
}

const INITIAL: SpaceState = {
  ...INITIAL_STATE,
  messages: [],
  streams: {},
  sent: [],
  activeAgents: [],
  isRunning: false,
  hasOlder: false,
};

export class SpaceStore extends Store<SpaceState> {
  readonly #client: GatepostClient;
  readonly #id: string;
  readonly #options: SpaceOptions;
  readonly #queue: SendQueue;
  /** The number up to which no message is missing; undefined until the newest page is loaded. */
  #completeSeq: number | undefined;
  /** Messages that an earlier store was sending. Sent again with their keys, they are stored once. */
  #interrupted: readonly SentMessage[];
  #isFilling = false;
  #isLoadingOlder = false;

  constructor(client: GatepostClient, id: string, options: SpaceOptions = {}) {
    const request = options.member === undefined ? { id } : { id, member: options.member };
    const open: OpenStream = (streamOptions) => client.watchSpace(request, streamOptions);
    const own = new Feed(options.adaptStream?.(open) ?? open);
    const sent = options.unsent ?? [];
    super(options.feed === undefined ? own : new SpaceFeed(options.feed, own, id), { ...INITIAL, sent });
    this.#interrupted = sent.filter((message) => message.error === undefined);
    this.#client = client;
    this.#id = id;
    this.#options = options;
    this.#queue = findQueue(client, `space:${id}`);
  }

  /** Post a message; it is shown at once. Raise what keeps it from being stored, and keep it as failed. */
  async send(content: string): Promise<Message> {
    const message = { key: createKey(), content, createdAt: new Date().toISOString(), error: undefined };
    this.update({ sent: [...this.state.sent, message] });
    return this.#enqueue(message);
  }

  /** Send a failed message again. */
  async resend(key: string): Promise<Message | undefined> {
    const message = this.state.sent.find((sent) => sent.key === key && sent.error !== undefined);
    if (message === undefined) return undefined;
    this.#changeSent(key, { ...message, error: undefined });
    return this.#enqueue(message);
  }

  /** Forget a failed message. */
  discard(key: string): void {
    this.#changeSent(key, undefined);
  }

  /** Load the messages before the oldest one. */
  async loadOlder(): Promise<void> {
    const first = this.state.messages[0];
    if (first === undefined || !this.state.hasOlder || this.#isLoadingOlder) return;
    this.#isLoadingOlder = true;
    try {
      const page = await this.#client.readMessages({ ...this.#buildRequest(), beforeSeq: first.seq });
      this.update({ messages: mergeMessages(this.state.messages, page.items), hasOlder: page.next !== null });
    } finally {
      this.#isLoadingOlder = false;
    }
  }

  /** Record that everything here was read. */
  async markRead(): Promise<void> {
    const last = this.state.messages.at(-1);
    if (last !== undefined) await this.#client.markRead({ id: this.#id, seq: last.seq, name: this.#options.member });
  }

  protected override async load(signal: AbortSignal): Promise<void> {
    // Frames may have been lost, so what seemed to be written then may have ended.
    if (Object.keys(this.state.streams).length > 0) this.#setStreams({});
    if (this.state.activeAgents.length > 0) this.update({ activeAgents: [] });
    const interrupted = this.#interrupted;
    this.#interrupted = [];
    for (const message of interrupted) this.#enqueue(message).catch(() => {}); // it is shown as failed
    if (this.#completeSeq !== undefined) return this.#loadMissing(this.#completeSeq, signal);
    const known = this.state.messages.at(-1)?.seq ?? 0;
    const page = await this.#client.readMessages(this.#buildRequest(), { signal });
    // Between what is known already, such as a message of one's own, and an older page there may be others.
    const first = page.next === null ? 0 : (page.items[0]?.seq ?? 0);
    const messages = this.state.messages.filter((message) => message.seq >= first);
    this.update({ messages: mergeMessages(messages, page.items), hasOlder: page.next !== null });
    this.#completeSeq = Math.max(known, page.items.at(-1)?.seq ?? 0);
  }

  /** Load all messages after one. What is not there then, before the last message that was known, does not exist. */
  async #loadMissing(afterSeq: number, signal?: AbortSignal): Promise<void> {
    let last = this.state.messages.at(-1)?.seq ?? 0;
    const request = { id: this.#id, member: this.#options.member, afterSeq };
    for await (const message of this.#client.pages(this.#client.readMessages, request, { signal })) {
      last = Math.max(last, message.seq);
      this.#completeSeq = Math.max(this.#completeSeq ?? 0, message.seq);
      this.#addMessage(message);
    }
    this.#completeSeq = Math.max(this.#completeSeq ?? 0, last);
  }

  /** Load what is missing before the last message, if anything is. */
  async #fillGap(): Promise<void> {
    if (this.#isFilling) return;
    this.#isFilling = true;
    try {
      while (this.#completeSeq !== undefined && this.state.messages.at(-1)!.seq > this.#completeSeq) {
        await this.#loadMissing(this.#completeSeq);
      }
    } catch {
      // It is loaded when the feed opens again.
    } finally {
      this.#isFilling = false;
    }
  }

  protected override receive({ event, data }: GatepostEvent): void {
    switch (event) {
      case "space.message":
        if (data.space === this.#id) this.#addMessage(data);
        break;
      case "space.message.streaming":
        if (data.spaceId !== this.#id) break;
        if (data.phase === "done") this.#removeStreams((stream) => stream.streamId === data.streamId);
        else this.#addText(data.streamId, data.agent, data.runId, data.phase === "delta" ? data.delta : undefined);
        break;
      case "space.message.failed":
        if (data.spaceId === this.#id) this.#removeStreams((stream) => stream.streamId === data.streamId);
        break;
      case "agent.active":
      case "agent.inactive": {
        // A feed of several spaces says which one it means; that of this space need not.
        if (data.spaceId !== this.#id && (data.spaceId !== undefined || this.#options.feed !== undefined)) break;
        const others = this.state.activeAgents.filter((agent) => agent !== data.agent);
        this.update({ activeAgents: event === "agent.active" ? [...others, data.agent] : others });
        if (event === "agent.inactive") this.#removeStreams((stream) => stream.runId === data.runId);
        break;
      }
    }
  }

  #buildRequest() {
    return { id: this.#id, member: this.#options.member, limit: this.#options.limit };
  }

  /** Post a message after all that were sent before. */
  async #enqueue(message: SentMessage): Promise<Message> {
    return this.#queue.run(() => this.#post(message)).catch((error: Error) => {
      // It may not be there any more: somebody else has said the same meanwhile.
      const others = this.state.sent.filter((sent) => sent.key !== message.key);
      const index = this.state.sent.findIndex((sent) => sent.key === message.key);
      this.update({ sent: others.toSpliced(index === -1 ? others.length : index, 0, { ...message, error }) });
      throw error;
    });
  }

  async #post({ key, content }: SentMessage): Promise<Message> {
    const request = { id: this.#id, content, sender: this.#options.member };
    const message = await this.#client.postMessage(request, { idempotencyKey: key });
    this.#changeSent(key, undefined);
    this.#addMessage(message);
    return message;
  }

  #changeSent(key: string, message: SentMessage | undefined): void {
    const sent = this.state.sent.flatMap((other) => (other.key !== key ? [other] : message ? [message] : []));
    this.update({ sent });
  }

  #addMessage(message: Message): void {
    if (this.#completeSeq !== undefined && message.seq === this.#completeSeq + 1) this.#completeSeq = message.seq;
    const messages = mergeMessages(this.state.messages, [message]);
    if (messages === this.state.messages) return;
    // The feed may be faster than the answer to a post: a message is not shown a second time meanwhile.
    const { member } = this.#options;
    const isSent = (sent: SentMessage) =>
      sent.error === undefined && sent.content === message.content && (member ?? message.sender) === message.sender;
    const index = this.state.sent.findIndex(isSent);
    const sent = index === -1 ? this.state.sent : this.state.sent.toSpliced(index, 1);
    this.update({ messages, sent });
    void this.#fillGap();
    const streamId = (message.data as { streamId?: unknown } | null)?.streamId;
    if (streamId !== undefined) this.#removeStreams((stream) => stream.streamId === streamId);
  }

  #addText(streamId: string, agent: string, runId: string, delta: string | undefined): void {
    const stream = this.state.streams[streamId] ?? { streamId, agent, runId, text: "", isPartial: delta !== undefined };
    this.#setStreams({ ...this.state.streams, [streamId]: { ...stream, text: stream.text + (delta ?? "") } });
  }

  #removeStreams(matches: (stream: StreamingMessage) => boolean): void {
    const entries = Object.entries(this.state.streams);
    const others = entries.filter(([, stream]) => !matches(stream));
    if (others.length < entries.length) this.#setStreams(Object.fromEntries(others));
  }

  #setStreams(streams: SpaceState["streams"]): void {
    this.update({ streams, isRunning: Object.keys(streams).length > 0 });
  }
}

/** Return all messages in the order of their numbers, each once; the same array if there is no new one. */
export function mergeMessages(messages: readonly Message[], others: readonly Message[]): readonly Message[] {
  const last = messages.at(-1)?.seq ?? 0;
  if (others.every((message, index) => message.seq > (others[index - 1]?.seq ?? last))) {
    return others.length > 0 ? [...messages, ...others] : messages;
  }
  const bySeq = new Map(messages.map((message) => [message.seq, message]));
  for (const message of others) if (!bySeq.has(message.seq)) bySeq.set(message.seq, message);
  if (bySeq.size === messages.length) return messages;
  return [...bySeq.values()].sort((a, b) => a.seq - b.seq);
}
