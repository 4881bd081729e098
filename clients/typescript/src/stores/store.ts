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
 *
 * What the caller changes itself is different: it is shown at once, and the answer of a load that was asked for before
 * does not know it. A store keeps such a change until those loads are done (`afterLoads`), and applies it to what they
 * bring.
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
  /** The last load, until it begins. */
  nextLoad: Promise<void> | undefined;
  loadCount: number;
  /** Events that wait for the loads. */
  waiting: GatepostEvent[];
  /** Called when the loads are done, before the events. */
  endHandlers: (() => void)[];
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

  /** Load again now; during a load, once more after it, however often that is asked for. */
  async refresh(): Promise<void> {
    const session = this.#session;
    if (session === undefined) return;
    if (session.nextLoad === undefined) {
      session.loadCount += 1;
      session.lastLoad = session.lastLoad.then(() => {
        session.nextLoad = undefined;
        return this.#load(session);
      });
      session.nextLoad = session.lastLoad;
    }
    await session.nextLoad;
  }

  /** Load the state, or what has changed since it was loaded. */
  protected abstract load(signal: AbortSignal): Promise<void>;

  /** Change the state by an event of the feed. */
  protected abstract receive(event: GatepostEvent): void;

  /** Call after the loads that are under way; now, if there is none. */
  protected afterLoads(callback: () => void): void {
    if (this.#session !== undefined && this.#session.loadCount > 0) this.#session.endHandlers.push(callback);
    else callback();
  }

  protected update(changes: Partial<State>): void {
    this.#state = { ...this.#state, ...changes };
    for (const listener of [...this.#listeners]) listener();
  }

  #start(): void {
    const controller = new AbortController();
    const session: Session = {
      controller,
      lastLoad: Promise.resolve(),
      nextLoad: undefined,
      loadCount: 0,
      waiting: [],
      endHandlers: [],
      unsubscribe: () => {},
    };
    this.#session = session;
    session.unsubscribe = this.#feed.subscribe({
      onEvent: (event) => this.#handle(event, session),
      onStatus: (status, error) => this.#follow(status, error, session),
    });
  }

  #follow(status: FeedStatus, error: Error | undefined, session: Session): void {
    const isLive = status === "open";
    if (this.state.isLive !== isLive) this.update({ isLive } as Partial<State>);
    if (status === "open") void this.refresh();
    // What cannot be followed may be readable all the same; the error stays.
    const showError = () => session === this.#session && this.update({ error } as Partial<State>);
    if (status === "failed") void this.refresh().then(showError);
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
    if (session.loadCount > 0) return;
    for (const callback of session.endHandlers.splice(0)) callback();
    for (const event of session.waiting.splice(0)) this.receive(event);
  }

  #stop(): void {
    const session = this.#session;
    this.#session = undefined;
    session?.unsubscribe();
    session?.controller.abort();
    for (const callback of session?.endHandlers.splice(0) ?? []) callback();
    this.#state = { ...this.#state, isLive: false };
  }
}
