/** The feed of a page, or the stream of one space while the feed leaves that space out: it has the newest spaces only. */

import type { FeedSource, Feed, FeedListener } from "../feed.js";

export class SpaceFeed implements FeedSource {
  readonly #feed: Feed;
  readonly #own: Feed;
  readonly #part: string;

  constructor(feed: Feed, own: Feed, spaceId: string) {
    this.#feed = feed;
    this.#own = own;
    this.#part = `space:${spaceId}`;
  }

  subscribe(listener: FeedListener): () => void {
    let closeOwn: (() => void) | undefined;
    const close = this.#feed.subscribe({
      onEvent: (event) => listener.onEvent(event),
      onStatus: (status, error) => {
        if (status === "open" && !this.#feed.hasPart(this.#part)) {
          closeOwn ??= this.#own.subscribe(listener);
          return;
        }
        if (status === "open") {
          closeOwn?.();
          closeOwn = undefined;
        }
        if (closeOwn === undefined) listener.onStatus(status, error);
      },
    });
    return () => {
      close();
      closeOwn?.();
    };
  }
}
