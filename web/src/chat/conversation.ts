/**
 * A conversation: the entries of one session, what is being written and sent there, and who thinks about it.
 *
 * Entries are known by their number: a question comes again when it has ended, and takes its own place. A sent text is
 * shown at once; it stays until its entry is here, so that it does not vanish for a moment.
 */

import { createKey, findQueue, INITIAL_STATE, Store, type Chat, type GatepostEvent, type SentMessage, type SharedEntry, type StoreState, type StreamingMessage } from "@gatepost/client";

import { feed } from "../data/feed.js";
import { client, me } from "../data/session.js";
import { CHANNEL, parseName } from "./session-id.js";

export interface SentText extends SentMessage {
  to: string | null;
  /** Its entry, once the gateway has it. */
  entryId: string | undefined;
}

export interface WrittenReply extends StreamingMessage {
  /** Its entry, once it is stored. */
  entryId: string | undefined;
}

export interface ConversationState extends StoreState {
  /** The oldest first. */
  entries: readonly SharedEntry[];
  hasOlder: boolean;
  sent: readonly SentText[];
  /** By the id of their stream: replies that agents write now. */
  streams: Readonly<Record<string, WrittenReply>>;
  /** By the name of an agent that thinks about the session: the last entry of that moment. */
  thinking: Readonly<Record<string, number>>;
}

const PAGE_LENGTH = 80;
const INITIAL: ConversationState = { ...INITIAL_STATE, entries: [], hasOlder: false, sent: [], streams: {}, thinking: {} };

export class ConversationStore extends Store<ConversationState> {
  readonly #session: string;
  #older: string | null = null;
  #isLoadingOlder = false;

  constructor(session: string) {
    super(feed, INITIAL);
    this.#session = session;
  }

  /** Send a text to an agent, or to whom the rules name (null); it is shown at once. */
  async send(content: string, to: string | null): Promise<Chat> {
    const text: SentText = { key: createKey(), content, to, createdAt: new Date().toISOString(), error: undefined, entryId: undefined };
    this.update({ sent: [...this.state.sent, text] });
    return this.#enqueue(text);
  }

  async resend(key: string): Promise<Chat | undefined> {
    const text = this.state.sent.find((sent) => sent.key === key && sent.error !== undefined);
    if (text === undefined) return undefined;
    this.#changeSent(key, { ...text, error: undefined });
    return this.#enqueue(text);
  }

  discard(key: string): void {
    this.#changeSent(key, undefined);
  }

  async loadOlder(): Promise<void> {
    if (this.#older === null || this.#isLoadingOlder) return;
    this.#isLoadingOlder = true;
    try {
      const page = await client.listSharedEntries({ ...this.#filter, newest: true, after: this.#older, limit: PAGE_LENGTH });
      this.#older = page.next;
      this.#add(page.items);
    } finally {
      this.#isLoadingOlder = false;
    }
  }

  protected override async load(signal: AbortSignal): Promise<void> {
    // Frames may have been lost, so what seemed to be written then may have ended.
    this.update({ streams: {}, thinking: {} });
    const last = this.state.entries.at(-1);
    if (last === undefined) {
      const page = await client.listSharedEntries({ ...this.#filter, newest: true, limit: PAGE_LENGTH }, { signal });
      this.#older = page.next;
      this.#add(page.items);
      return;
    }
    const request = { ...this.#filter, after: last.seq };
    for await (const entry of client.pages(client.listSharedEntries, request, { signal })) this.#add([entry]);
  }

  protected override receive({ event, data }: GatepostEvent): void {
    switch (event) {
      case "shared.entry":
        if (data.channel === CHANNEL && data.sessionId === this.#session) this.#add([data]);
        break;
      case "shared.entry.streaming":
        if (data.sessionId !== this.#session) break;
        if (data.phase === "done") this.#finishStream(data.streamId, data.entryId);
        else this.#addWords(data.streamId, data.agent, data.runId, data.phase === "delta" ? data.delta : undefined);
        break;
      case "shared.entry.failed":
        if (data.sessionId === this.#session) this.#removeStreams((stream) => stream.streamId === data.streamId);
        break;
      case "agent.active":
        if (data.sessionId !== this.#session) break;
        this.update({ thinking: { ...this.state.thinking, [data.agent]: this.state.entries.at(-1)?.seq ?? 0 } });
        break;
      case "agent.inactive": {
        const { [data.agent]: _ended, ...others } = this.state.thinking;
        this.update({ thinking: others });
        this.#removeStreams((stream) => stream.runId === data.runId && stream.entryId === undefined);
        break;
      }
    }
  }

  get #filter() {
    return { channel: CHANNEL, session: this.#session };
  }

  /** Send a text after all that were written before. */
  async #enqueue(text: SentText): Promise<Chat> {
    return findQueue(client, `chat:${this.#session}`).run(() => this.#post(text)).catch((error: Error) => {
      const failed = this.state.sent.find((sent) => sent.key === text.key);
      if (failed !== undefined) this.#changeSent(text.key, { ...failed, error });
      throw error;
    });
  }

  async #post({ key, content, to }: SentText): Promise<Chat> {
    const request = { content, to, session: parseName(this.#session) ?? null, channel: CHANNEL, sender: me.value } as const;
    const chat = await client.sendChat(request, { idempotencyKey: key });
    const text = this.state.sent.find((sent) => sent.key === key);
    const isHere = chat.decision !== undefined || chat.sessionId !== this.#session || this.state.entries.some((entry) => entry.id === chat.entryId);
    if (text !== undefined) this.#changeSent(key, isHere ? undefined : { ...text, entryId: chat.entryId ?? undefined });
    if (!isHere && !this.state.isLive) void this.refresh();
    return chat;
  }

  #add(added: readonly SharedEntry[]): void {
    const bySeq = new Map(this.state.entries.map((entry) => [entry.seq, entry]));
    for (const entry of added) {
      const known = bySeq.get(entry.seq);
      // A page may be older than an event.
      if (known === undefined || known.status === "pending") bySeq.set(entry.seq, entry);
    }
    const ids = new Set(added.map((entry) => entry.id));
    const words = added.filter((entry) => entry.kind === "user_prompt").map((entry) => entry.content);
    const isStored = (sent: SentText) => {
      if (sent.entryId !== undefined) return ids.has(sent.entryId);
      const index = sent.error === undefined ? words.indexOf(sent.content) : -1;
      if (index >= 0) words.splice(index, 1);
      return index >= 0;
    };
    this.update({
      entries: [...bySeq.values()].sort((a, b) => a.seq - b.seq),
      hasOlder: this.#older !== null,
      sent: this.state.sent.filter((sent) => !isStored(sent)),
    });
    this.#removeStreams((stream) => stream.entryId !== undefined && ids.has(stream.entryId));
  }

  #addWords(streamId: string, agent: string, runId: string, delta: string | undefined): void {
    const stream = this.state.streams[streamId] ?? { streamId, agent, runId, text: "", isPartial: delta !== undefined, entryId: undefined };
    this.update({ streams: { ...this.state.streams, [streamId]: { ...stream, text: stream.text + (delta ?? "") } } });
  }

  /** A reply that is stored is shown as it was written until its entry is here. */
  #finishStream(streamId: string, entryId: string): void {
    const stream = this.state.streams[streamId];
    if (stream === undefined) return;
    if (this.state.entries.some((entry) => entry.id === entryId)) this.#removeStreams((other) => other === stream);
    else this.update({ streams: { ...this.state.streams, [streamId]: { ...stream, entryId } } });
  }

  #removeStreams(matches: (stream: WrittenReply) => boolean): void {
    const entries = Object.entries(this.state.streams);
    const others = entries.filter(([, stream]) => !matches(stream));
    if (others.length < entries.length) this.update({ streams: Object.fromEntries(others) });
  }

  #changeSent(key: string, text: SentText | undefined): void {
    this.update({ sent: this.state.sent.flatMap((other) => (other.key !== key ? [other] : text ? [text] : [])) });
  }
}
