/** A clock for tests: it shows the real time of its beginning, and moves only when it is told to or somebody sleeps. */

import { setImmediate } from "node:timers/promises";

import type { Clock } from "@gatepost/client";

interface Timer {
  callback: () => void;
  duration: number;
  end: number;
}

export class TestClock implements Clock {
  /** The pauses that somebody has slept. */
  readonly pauses: number[] = [];
  /** Called with each pause. */
  onPause: (duration: number) => void = () => {};
  readonly #timers = new Set<Timer>();
  readonly #observers = new Set<() => void>();
  #now = Math.floor(Date.now() / 1000) * 1000;
  #held: Promise<void> | undefined;
  #release = () => {};

  now(): number {
    return this.#now;
  }

  /** Sleep no longer than the others need to go on: the clock moves instead. Timers end by `advance` alone. */
  async sleep(duration: number, signal?: AbortSignal): Promise<void> {
    this.pauses.push(duration);
    this.onPause(duration);
    this.#notify();
    signal?.throwIfAborted();
    let abort = () => {};
    const aborted = new Promise<never>((_, reject) => (abort = () => reject(signal?.reason)));
    signal?.addEventListener("abort", abort);
    try {
      await Promise.race([this.#held ?? setImmediate(), aborted]);
    } finally {
      signal?.removeEventListener("abort", abort);
    }
    this.#now += duration;
  }

  setTimer(callback: () => void, duration: number): () => void {
    const timer = { callback, duration, end: this.#now + duration };
    this.#timers.add(timer);
    this.#notify();
    return () => this.#timers.delete(timer);
  }

  get timerCount(): number {
    return this.#timers.size;
  }

  /** Let every sleep last until `release`. */
  hold(): void {
    this.#held = new Promise((resolve) => (this.#release = resolve));
  }

  release(): void {
    this.#release();
    this.#held = undefined;
  }

  /** Move the clock, and call the timers that end. */
  advance(duration: number): void {
    this.#now += duration;
    for (const timer of [...this.#timers]) {
      if (timer.end > this.#now) continue;
      this.#timers.delete(timer);
      timer.callback();
    }
  }

  /** Wait until somebody sleeps who did not sleep before. */
  nextPause(): Promise<void> {
    const count = this.pauses.length;
    return this.#wait(() => this.pauses.length > count);
  }

  /** Wait until there is a timer of this duration. */
  nextTimer(duration: number): Promise<void> {
    return this.#wait(() => [...this.#timers].some((timer) => timer.duration === duration));
  }

  #notify(): void {
    for (const observer of [...this.#observers]) observer();
  }

  #wait(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        if (!condition()) return;
        this.#observers.delete(check);
        resolve();
      };
      this.#observers.add(check);
      check();
    });
  }
}
