/** The one stream of the page: all that concerns the person, or, for the administrator, the whole gateway. */

import { Feed, type FeedStatus, type GatepostEvent } from "@gatepost/client";
import { computed, signal } from "@preact/signals";

import { client, isAdministrator, me, noticeFailure } from "./session.js";
import { shareStream } from "./shared-stream.js";

/** Milliseconds between two looks at the gateway while the browser is offline. */
const CHECK_INTERVAL = 3_000;

/** Milliseconds in which events count as one, and between two calls of who follows them. */
const PAUSE = 250;
const INTERVAL = 1_000;

const buildName = () => `gatepost-feed-${isAdministrator.value ? "administrator" : "person"}-${me.value}`;
const status = signal<FeedStatus>("closed");

/** Whether the browser is offline, and so can tell before the stream does. */
export const isOffline = signal(false);
export const feed = new Feed(shareStream(buildName, (options) => client.watchAll({}, options)));
export const feedStatus = computed<FeedStatus>(() => (isOffline.value && status.value === "open" ? "waiting" : status.value));

/** Call a function with every event, and return the function that ends it. */
export function onEvent(listener: (event: GatepostEvent) => void): () => void {
  return feed.subscribe({ onEvent: listener, onStatus: () => undefined });
}

/**
 * Call a function soon after events that matter, and after the stream has opened again: once for all that come together, and
 * again and again while they go on coming. Return the function that ends it.
 */
export function follow(matters: (event: GatepostEvent) => boolean, callback: () => void, source = feed): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let calledAt = -Infinity;
  const call = () => {
    timer = undefined;
    calledAt = performance.now();
    callback();
  };
  const plan = () => (timer ??= setTimeout(call, Math.max(PAUSE, calledAt + INTERVAL - performance.now())));
  let wasOpen = source.status === "open";
  const unsubscribe = source.subscribe({
    onEvent: (event) => matters(event) && plan(),
    onStatus: (next) => {
      if (next === "open" && !wasOpen) plan();
      wasOpen = next === "open";
    },
  });
  return () => {
    unsubscribe();
    clearTimeout(timer);
  };
}

/** Call a function whenever the stream has opened, after which live events may have been missed. */
export function onOpen(listener: () => void): () => void {
  return feed.subscribe({ onEvent: () => undefined, onStatus: (status) => status === "open" && listener() });
}

/** Keep the stream open as long as the page. */
export function startFeed(): void {
  feed.subscribe({
    onEvent: () => undefined,
    onStatus: (next, error) => {
      status.value = next;
      if (next === "open" && !navigator.onLine) void checkConnection();
      if (next === "failed") noticeFailure(error);
    },
  });
  addEventListener("offline", () => void checkConnection());
  addEventListener("online", () => (isOffline.value = false));
  // A browser may say that it is offline a moment before it is.
  setInterval(() => navigator.onLine || void checkConnection(), CHECK_INTERVAL);
}

/** Find out whether the gateway can be reached: one on this machine can, although the browser is offline. */
async function checkConnection(): Promise<void> {
  const isReached = await fetch("/health", { cache: "no-store", signal: AbortSignal.timeout(5_000) }).then(
    () => true,
    () => false,
  );
  isOffline.value = !isReached && !navigator.onLine;
}
