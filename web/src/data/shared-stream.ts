/**
 * One stream for all tabs of a browser, which opens only 6 connections to a gateway.
 *
 * The tab that holds a lock leads: it reads the stream, and sends all that it reads to the others. When it closes, the
 * next one gets the lock and resumes after the last event that it knows. A tab that joins asks the leader how the stream
 * is, and is a reader of a fresh stream from that answer on:
 *
 *     a tab joins  ->  asks  ->  "open, at this position"  ->  loads  ->  events
 *     the leader closes  ->  the next one connects, after its position  ->  all load again
 *
 * A hidden page may be slow, or not run at all. So a tab that is seen takes the lock from a leader that does not answer,
 * and from a hidden one that has lost its connection; that leader becomes one of the others.
 *
 * Without locks (a page that is not on this machine and not served over TLS), a hidden tab closes its stream.
 */

import type { GatepostEvent, OpenStream, StreamOptions, StreamStart, StreamStatus } from "@gatepost/client";

/** Milliseconds between two questions to the leader, and after which one that does not answer has gone. */
const ASK_INTERVAL = 4_000;
const SILENCE_TIMEOUT = 10_000;

interface Condition {
  kind: "condition";
  status: StreamStatus;
  error: string | undefined;
  start: StreamStart | undefined;
  /** The last event that was sent. */
  position: string | undefined;
  isHidden: boolean;
}

type Note = { kind: "question" } | { kind: "event"; event: GatepostEvent } | Condition;

/** Share a stream among the tabs that give it the same name. */
export function shareStream(buildName: () => string, open: OpenStream): OpenStream {
  // By their types both are always there.
  const canShare = (navigator.locks as LockManager | undefined) !== undefined && typeof BroadcastChannel === "function";
  return canShare ? (options) => new SharedStream(buildName(), open, options).read() : closeWhileHidden(open);
}

/** Close a stream while the page is hidden; it resumes where it was. */
export function closeWhileHidden(open: OpenStream): OpenStream {
  return async function* (options) {
    const { signal } = options;
    let { after } = options;
    const onConnected = (start: StreamStart) => {
      after = start.id;
      options.onConnected?.(start);
    };
    while (!signal?.aborted) {
      const controller = new AbortController();
      const close = () => (document.hidden || signal?.aborted) && controller.abort();
      document.addEventListener("visibilitychange", close);
      signal?.addEventListener("abort", close);
      try {
        if (!document.hidden) {
          for await (const event of open({ ...options, after, onConnected, signal: controller.signal })) {
            after = event.id;
            yield event;
          }
          if (!controller.signal.aborted) return;
        }
      } finally {
        document.removeEventListener("visibilitychange", close);
        signal?.removeEventListener("abort", close);
        controller.abort();
      }
      if (signal?.aborted) return;
      options.onStatus?.("waiting", new Error("the page is hidden"));
      await waitUntilSeen(signal);
    }
  };
}

function waitUntilSeen(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (document.hidden && !signal?.aborted) return;
      document.removeEventListener("visibilitychange", check);
      signal?.removeEventListener("abort", check);
      resolve();
    };
    document.addEventListener("visibilitychange", check);
    signal?.addEventListener("abort", check);
    check();
  });
}

class SharedStream {
  readonly #name: string;
  readonly #open: OpenStream;
  readonly #options: StreamOptions;
  readonly #channel: BroadcastChannel;
  /** What the reader is to get, in order. */
  readonly #waiting: (GatepostEvent | Condition)[] = [];
  #wake = () => {};
  #failure: unknown;
  #hasEnded = false;
  /** How the stream is, as far as this tab knows; undefined until the leader has said so. */
  #condition: Condition | undefined;
  #position: string | undefined;
  /** Ends the stream of this tab, if it leads. */
  #leading: AbortController | undefined;
  /** Ends the wait for the lock, to take it. */
  #standby = new AbortController();
  #heardAt = Date.now();

  constructor(name: string, open: OpenStream, options: StreamOptions) {
    this.#name = name;
    this.#open = open;
    this.#options = options;
    this.#position = options.after;
    this.#channel = new BroadcastChannel(name);
  }

  async *read(): AsyncGenerator<GatepostEvent> {
    const { signal, onStatus, onConnected } = this.#options;
    const end = () => this.#end();
    const ask = () => this.#askLeader();
    const timer = setInterval(ask, ASK_INTERVAL);
    signal?.addEventListener("abort", end);
    document.addEventListener("visibilitychange", ask);
    this.#channel.addEventListener("message", ({ data }) => this.#receive(data as Note));
    onStatus?.("connecting");
    this.#send({ kind: "question" });
    void this.#compete();
    try {
      while (!this.#hasEnded && !signal?.aborted) {
        const note = this.#waiting.shift();
        if (note === undefined) {
          if (this.#failure !== undefined) throw this.#failure;
          await new Promise<void>((resolve) => (this.#wake = resolve));
        } else if ("kind" in note) {
          if (note.status === "open" && note.start !== undefined) onConnected?.(note.start);
          onStatus?.(note.status, note.error === undefined ? undefined : new Error(note.error));
        } else {
          yield note;
        }
      }
    } finally {
      this.#end();
      clearInterval(timer);
      signal?.removeEventListener("abort", end);
      document.removeEventListener("visibilitychange", ask);
      this.#channel.close();
    }
  }

  #end(): void {
    this.#hasEnded = true;
    this.#leading?.abort();
    this.#standby.abort();
    this.#wake();
  }

  /** Wait for the lock, and lead while this tab has it. */
  async #compete(): Promise<void> {
    while (!this.#hasEnded && this.#failure === undefined) {
      const options = this.#standby.signal.aborted ? { steal: true } : { signal: this.#standby.signal };
      if (options.steal) this.#standby = new AbortController();
      try {
        await navigator.locks.request(this.#name, options, () => this.#lead());
      } catch {
        // Another tab has taken the lock, or this one is about to.
      }
      this.#leading?.abort();
      this.#leading = undefined;
      this.#heardAt = Date.now();
    }
  }

  async #lead(): Promise<void> {
    if (this.#hasEnded) return;
    const controller = new AbortController();
    this.#leading = controller;
    let start: StreamStart | undefined;
    const tell = (status: StreamStatus, error?: Error) => {
      if (controller.signal.aborted) return;
      const position = this.#position;
      this.#tell({ kind: "condition", status, error: error?.message, start, position, isHidden: document.hidden });
    };
    const onConnected = (opened: StreamStart) => {
      start = opened;
      this.#position = opened.id;
    };
    try {
      for await (const event of this.#open({ signal: controller.signal, after: this.#position, onStatus: tell, onConnected })) {
        if (controller.signal.aborted) return;
        this.#position = event.id;
        this.#send({ kind: "event", event });
        this.#pass(event);
      }
    } catch (error) {
      // The next tab tries it as well, and learns the same.
      if (!controller.signal.aborted) this.#fail(error);
    }
  }

  /** Record how the stream is, for this tab and the others. */
  #tell(condition: Condition): void {
    this.#condition = condition;
    this.#send(condition);
    this.#pass(condition);
  }

  #receive(note: Note): void {
    if (this.#leading !== undefined) {
      if (note.kind === "question" && this.#condition !== undefined) {
        this.#send({ ...this.#condition, position: this.#position, isHidden: document.hidden });
      }
      return;
    }
    if (note.kind === "question") return;
    this.#heardAt = Date.now();
    if (note.kind === "event") {
      // What comes before the leader has said that the stream is open is in what is loaded then.
      if (this.#condition?.status !== "open") return;
      this.#position = note.event.id;
      this.#pass(note.event);
      return;
    }
    const hasChanged = this.#condition?.status !== note.status || this.#condition.start?.id !== note.start?.id;
    this.#condition = note;
    this.#position = note.position ?? this.#position;
    if (hasChanged) this.#pass(note);
  }

  /** Ask the leader how the stream is, and take its place if it cannot read it. */
  #askLeader(): void {
    if (this.#leading !== undefined || document.hidden || this.#hasEnded) return;
    const isSilent = Date.now() - this.#heardAt > SILENCE_TIMEOUT;
    const isStuck = this.#condition?.isHidden === true && this.#condition.status === "waiting";
    if (isSilent || isStuck) this.#standby.abort();
    else this.#send({ kind: "question" });
  }

  #fail(error: unknown): void {
    this.#failure = error;
    this.#wake();
  }

  #pass(note: GatepostEvent | Condition): void {
    this.#waiting.push(note);
    this.#wake();
  }

  #send(note: Note): void {
    if (!this.#hasEnded) this.#channel.postMessage(note);
  }
}
