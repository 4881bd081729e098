/** Stores of the client in components: at most one render a frame, however fast the events come. */

import type { StoreState } from "@gatepost/client";
import { signal, type ReadonlySignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";

import { noticeFailure } from "./session.js";

interface StoreLike<State> {
  readonly state: State;
  subscribe(listener: () => void): () => void;
}

/** Return the state of a store, which works while the component is mounted. */
export function useStore<State extends StoreState>(store: StoreLike<State>): State {
  const [, setState] = useState<State | undefined>(undefined);
  useEffect(() => followStore(store, setState), [store]);
  return store.state;
}

/** Return a signal with the state of a store that works as long as the page. */
export function toSignal<State extends StoreState>(store: StoreLike<State>): ReadonlySignal<State> {
  const state = signal(store.state);
  followStore(store, (next) => (state.value = next));
  return state;
}

function followStore<State extends StoreState>(store: StoreLike<State>, onChange: (state: State) => void): () => void {
  let isScheduled = false;
  let isEnded = false;
  let error: Error | undefined;
  const update = () => {
    isScheduled = false;
    if (isEnded) return;
    if (store.state.error !== error) noticeFailure((error = store.state.error));
    onChange(store.state);
  };
  const unsubscribe = store.subscribe(() => {
    if (isScheduled) return;
    isScheduled = true;
    // A page in the background gets no frames.
    if (document.hidden) setTimeout(update, 250);
    else requestAnimationFrame(update);
  });
  onChange(store.state);
  return () => {
    isEnded = true;
    unsubscribe();
  };
}
