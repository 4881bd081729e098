/**
 * A feed: one stream with any number of listeners. It is open while it has a listener.
 *
 * A page has one feed of everything (`openFeed(client)`, the combined stream), because a browser opens only a few
 * connections to a gateway. A store without a feed opens a stream of its own.
 */

import type { GatepostClient } from "./client.js";
import type { GatepostEvent } from "./events.js";
import type { WatchAll } from "./models.js";
import type { StreamStart, StreamOptions, StreamStatus } from "./options.js";

export interface FeedListener {
  onEvent(event: GatepostEvent): void;
  /** Called at once with the present status, and with every other; `failed` is the last: the stream cannot go on. */
  onStatus(status: FeedStatus, error: Error | undefined): void;
}

export type FeedStatus = StreamStatus | "closed" | "failed";

/** What a store follows: a feed, or several as one. */
export interface FeedSource {
  /** Add a listener, and return the function that removes it. */
  subscribe(listener: FeedListener): () => void;
}

/** Opens a stream. */
export type OpenStream = (options: StreamOptions) => AsyncGenerator<GatepostEvent>;

export class Feed implements FeedSource {
  readonly #open: OpenStream;
  readonly #listeners = new Set<FeedListener>();
  #controller: AbortController | undefined;
  #status: FeedStatus = "closed";
  #error: Error | undefined;
  #parts: ReadonlySet<string> | undefined;

  constructor(open: OpenStream) {
    this.#open = open;
  }

  get status(): FeedStatus {
    return this.#status;
  }

  /** Return false if the stream that has opened last leaves this part out, such as `space:q4-report`. */
  hasPart(part: string): boolean {
    return this.#parts?.has(part) ?? true;
  }

  /** Add a listener, and return the function that removes it. */
  subscribe(listener: FeedListener): () => void {
    this.#listeners.add(listener);
    if (this.#controller === undefined) void this.#run();
    else listener.onStatus(this.#status, this.#error);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#controller?.abort();
      this.#controller = undefined;
      this.#status = "closed";
    };
  }

  async #run(): Promise<void> {
    const controller = new AbortController();
    this.#controller = controller;
    const setStatus = (status: FeedStatus, error?: Error) => {
      if (this.#controller !== controller) return;
      this.#status = status;
      this.#error = error;
      this.#notify((listener) => listener.onStatus(status, error));
    };
    const onConnected = ({ parts }: StreamStart) => {
      if (this.#controller === controller) this.#parts = parts && new Set(parts);
    };
    try {
      for await (const event of this.#open({ signal: controller.signal, onStatus: setStatus, onConnected })) {
        if (this.#controller !== controller) return;
        this.#notify((listener) => listener.onEvent(event));
      }
    } catch (error) {
      setStatus("failed", error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Tell all listeners. An error of one is not caught by anybody, and keeps nothing from the others. */
  #notify(tell: (listener: FeedListener) => void): void {
    for (const listener of [...this.#listeners]) {
      try {
        tell(listener);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}

/** Return a feed of spaces and inboxes: those named, or all of the caller's own. */
export function openFeed(client: GatepostClient, request: WatchAll = {}): Feed {
  return new Feed((options) => client.watchAll(request, options));
}
