/** What tells the time and waits, so that a test need not wait. Times are in milliseconds. */

export interface Clock {
  /** Return the present time, as `Date.now` does. */
  now(): number;
  /** Wait; an aborted signal raises its reason. */
  sleep(duration: number, signal?: AbortSignal): Promise<void>;
  /** Call once after this duration, and return the function that prevents it. */
  setTimer(callback: () => void, duration: number): () => void;
}

/** What `setTimeout` can wait for; it takes more for nothing. */
const MAX_DURATION = 2 ** 31 - 1;

export const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),

  setTimer(callback, duration) {
    const timer = setTimeout(callback, Math.min(duration, MAX_DURATION));
    return () => clearTimeout(timer);
  },

  sleep(duration, signal) {
    return new Promise((resolve, reject) => {
      const abort = () => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = this.setTimer(() => {
        signal?.removeEventListener("abort", abort);
        resolve();
      }, duration);
      if (signal?.aborted) abort();
      else signal?.addEventListener("abort", abort, { once: true });
    });
  },
};
