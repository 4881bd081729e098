/** When to try again, and for how long to wait. Times are in milliseconds. */

import type { Clock } from "./clock.js";

/** Statuses of a gateway, or of a proxy, that asks to try again. */
export const RETRY_STATUSES: readonly number[] = [429, 502, 503, 504];

const FIRST_PAUSE = 50;
const MAX_PAUSE = 2_000;

/** Pauses that grow and differ, until `duration` has passed. */
export class RetrySchedule {
  readonly #clock: Clock;
  readonly #end: number;
  #retries = 0;

  constructor(clock: Clock, duration: number) {
    this.#clock = clock;
    this.#end = clock.now() + duration;
  }

  /** Return the pause before the next try, at least `least`; undefined if that would be too late. */
  nextPause(least = 0): number | undefined {
    const grown = Math.min(MAX_PAUSE, FIRST_PAUSE * 2 ** this.#retries);
    this.#retries += 1;
    const pause = Math.max(least, grown * (0.5 + Math.random() / 2));
    return this.#clock.now() + pause <= this.#end ? pause : undefined;
  }
}

/** Return how long the header Retry-After asks to wait: it has seconds, or a date. */
export function parseRetryAfter(text: string | null, now: number): number {
  if (!text) return 0;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  return Math.max(0, Date.parse(text) - now) || 0;
}

/** Aborts its signal when the caller's signal is aborted, or when nobody has fed it for some time. */
export class Watchdog {
  readonly #clock: Clock;
  readonly #controller = new AbortController();
  readonly #signal: AbortSignal | undefined;
  readonly #abort = () => this.#controller.abort(this.#signal?.reason);
  #cancelTimer = () => {};

  constructor(clock: Clock, signal: AbortSignal | undefined) {
    this.#clock = clock;
    this.#signal = signal;
    if (signal?.aborted) this.#abort();
    else signal?.addEventListener("abort", this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Wait that long, from now on. */
  feed(duration: number): void {
    this.#cancelTimer();
    const expire = () => this.#controller.abort(new Error(`no answer for ${duration / 1000} seconds`));
    this.#cancelTimer = this.#clock.setTimer(expire, duration);
  }

  /** Wait for nothing, until it is fed again. */
  pause(): void {
    this.#cancelTimer();
  }

  /** Return what a promise brings; raise the reason if the signal is aborted before that. */
  async guard<Value>(promise: Promise<Value>): Promise<Value> {
    const { signal } = this.#controller;
    let abort = () => {};
    const aborted = new Promise<never>((_, reject) => (abort = () => reject(signal.reason)));
    signal.addEventListener("abort", abort);
    if (signal.aborted) abort();
    try {
      return await Promise.race([promise, aborted]);
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Release the timer and the caller's signal. */
  stop(): void {
    this.pause();
    this.#signal?.removeEventListener("abort", this.#abort);
  }

  /** Release both, and end what the signal was given to. */
  cancel(): void {
    this.stop();
    this.#controller.abort();
  }
}
