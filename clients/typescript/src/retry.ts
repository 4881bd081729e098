/** When to try again, and for how long to wait. Times are in milliseconds. */

/** Statuses of a gateway, or of a proxy, that asks to try again. */
export const RETRY_STATUSES: readonly number[] = [429, 502, 503, 504];

const FIRST_PAUSE = 50;
const MAX_PAUSE = 2_000;

/** Pauses that grow and differ, until `duration` has passed. */
export class RetrySchedule {
  readonly #end: number;
  #retries = 0;

  constructor(duration: number) {
    this.#end = Date.now() + duration;
  }

  /** Return the pause before the next try, at least `least`; undefined if that would be too late. */
  nextPause(least = 0): number | undefined {
    const grown = Math.min(MAX_PAUSE, FIRST_PAUSE * 2 ** this.#retries);
    this.#retries += 1;
    const pause = Math.max(least, grown * (0.5 + Math.random() / 2));
    return Date.now() + pause <= this.#end ? pause : undefined;
  }
}

/** Return how long the header Retry-After asks to wait: it has seconds, or a date. */
export function parseRetryAfter(text: string | null): number {
  if (!text) return 0;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  return Math.max(0, Date.parse(text) - Date.now()) || 0;
}

/** Wait; an aborted signal raises its reason. */
export function sleep(duration: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, duration);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}

/** Aborts its signal when the caller's signal is aborted, or when nobody has fed it for some time. */
export class Watchdog {
  readonly #controller = new AbortController();
  readonly #signal: AbortSignal | undefined;
  readonly #abort = () => this.#controller.abort(this.#signal?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
    if (signal?.aborted) this.#abort();
    else signal?.addEventListener("abort", this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Wait that long, from now on. */
  feed(duration: number): void {
    clearTimeout(this.#timer);
    const expire = () => this.#controller.abort(new Error(`no answer for ${duration / 1000} seconds`));
    this.#timer = setTimeout(expire, duration);
  }

  /** Wait for nothing, until it is fed again. */
  pause(): void {
    clearTimeout(this.#timer);
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
