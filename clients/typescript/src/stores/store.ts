/**
 * A store: a state that follows a feed, for any number of listeners. It works while it has a listener, so a component
 * may be mounted twice, and what nobody looks at costs nothing.
 *
 * A state is loaded after the feed has opened, never before: what happens after that comes through the feed, and what
 * happened before is in what is loaded. Events wait while a load is under way, so an old answer never takes the place
 * of a new event. The two may overlap, so each store drops what it has already.
 *
 *     feed opens  ->  load  ->  events change the state
 *     feed opens again  ->  load again: live frames may have been lost
 */

import type { GatepostEvent } from "../events.js";
import type { FeedSource, FeedStatus } from "../feed.js";

export interface StoreState {
  /** Whether the first load is still to come. */
  isLoading: boolean;
  /** Whether events come now; if not, the state may be old. */
  isLive: boolean;
  /** Why the last load failed, or why no events come any more. */
  error: Error | undefined;
}

export const INITIAL_STATE: StoreState = { isLoading: true, isLive: false, error: undefined };

/** From the first listener to the last. */
interface Session {
  readonly controller: AbortController;
  /** The last load that was asked for; loads run one after the other. */
  lastLoad: Promise<void>;
  loadCount: number;
  /** Events that wait for the loads. */
  waiting: GatepostEvent[];
  unsubscribe: () => void;
}

export abstract class Store<State extends StoreState> {
  readonly #feed: FeedSource;
  readonly #listeners = new Set<() => void>();
  #state: State;
  #session: Session | undefined;

  constructor(feed: FeedSource, initial: State) {
    this.#feed = feed;
    this.#state = initial;
  }

  /** The present state; a new object after each change. */
  get state(): State {
    return this.#state;
  }

  /** Call the listener after each change, and return the function that removes it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#start();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stop();
    };
  }

  /** Load again now. */
  async refresh(): Promise<void> {
    const session = this.#session;
    if (session === undefined) return;
    session.loadCount += 1;
    session.lastLoad = session.lastLoad.then(() => this.#load(session));
    await session.lastLoad;
  }

  /** Load the state, or what has changed since it was loaded. */
  protected abstract load(signal: AbortSignal): Promise<void>;

  /** Change the state by an event of the feed. */
  protected abstract receive(event: GatepostEvent): void;

  protected update(changes: Partial<State>): void {
    this.#state = { ...this.#state, ...changes };
    for (const listener of [...this.#listeners]) listener();
  }

  #start(): void {
    const controller = new AbortController();
    const session = { controller, lastLoad: Promise.resolve(), loadCount: 0, waiting: [], unsubscribe: () => {} };
    this.#session = session;
    session.unsubscribe = this.#feed.subscribe({
      onEvent: (event) => this.#handle(event, session),
      onStatus: (status, error) => this.#follow(status, error),
    });
  }

  #follow(status: FeedStatus, error: Error | undefined): void {
    const isLive = status === "open";
    if (this.state.isLive !== isLive) this.update({ isLive } as Partial<State>);
    if (status === "open") void this.refresh();
    // What cannot be followed may be readable all the same; the error stays.
    if (status === "failed") void this.refresh().then(() => this.update({ error } as Partial<State>));
  }

  #handle(event: GatepostEvent, session: Session): void {
    if (session.loadCount > 0) session.waiting.push(event);
    else this.receive(event);
  }

  async #load(session: Session): Promise<void> {
    const { signal } = session.controller;
    let error: unknown;
    try {
      if (!signal.aborted) await this.load(signal);
    } catch (failure) {
      error = failure;
    }
    session.loadCount -= 1;
    if (signal.aborted) return;
    this.update({ isLoading: false, error } as Partial<State>);
    if (session.loadCount === 0) for (const event of session.waiting.splice(0)) this.receive(event);
  }

  #stop(): void {
    this.#session?.unsubscribe();
    this.#session?.controller.abort();
    this.#session = undefined;
    this.#state = { ...this.#state, isLive: false };
  }
}
