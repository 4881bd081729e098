/** Loads of a view: what was loaded, why it failed, and whether it is under way. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { isOffline } from "./feed.js";
import { noticeFailure } from "./session.js";

export interface Load<Value> {
  value: Value | undefined;
  error: Error | undefined;
  isLoading: boolean;
  /** Load again, because something was changed here: what a load under way brings is old. */
  reload: () => void;
  /** Load again, because something may have changed. A load under way goes on, else one after the other might never end. */
  refresh: () => void;
}

/** Load a value, and again when a dependency changes; the old value is shown until then only on `reload` and `refresh`. */
export function useLoad<Value>(load: (signal: AbortSignal) => Promise<Value>, dependencies: readonly unknown[]): Load<Value> {
  const [state, setState] = useState<{ value?: Value; error?: Error; isLoading: boolean; key: string }>({
    isLoading: true,
    key: "",
  });
  const [version, setVersion] = useState(0);
  const key = JSON.stringify(dependencies);
  const latest = useRef(load);
  latest.current = load;
  const progress = useRef({ isUnderWay: false, isWanted: false }).current;
  useEffect(() => {
    const controller = new AbortController();
    Object.assign(progress, { isUnderWay: true, isWanted: false });
    const end = (next: (old: typeof state) => typeof state) => {
      if (controller.signal.aborted) return;
      progress.isUnderWay = false;
      setState(next);
      if (progress.isWanted) setVersion((old) => old + 1);
    };
    const keep = (old: typeof state) => (old.key === key ? old : { isLoading: true, key });
    setState((old) => ({ ...keep(old), isLoading: true }));
    latest.current(controller.signal).then(
      (value) => end(() => ({ value, isLoading: false, key })),
      (error: Error) => {
        if (!controller.signal.aborted) noticeFailure(error);
        end((old) => ({ ...keep(old), error, isLoading: false }));
      },
    );
    return () => controller.abort();
  }, [key, version]);
  const reload = useCallback(() => setVersion((old) => old + 1), []);
  const refresh = useCallback(() => {
    if (progress.isUnderWay) progress.isWanted = true;
    else reload();
  }, []);
  const isCurrent = state.key === key;
  return {
    value: isCurrent ? state.value : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading: state.isLoading || !isCurrent,
    reload,
    refresh,
  };
}

/** Call a function at an interval while the page is seen and not offline, and when it is seen again. */
export function useInterval(callback: () => void, milliseconds: number): void {
  const latest = useRef(callback);
  latest.current = callback;
  useEffect(() => {
    const run = () => document.hidden || isOffline.value || latest.current();
    const timer = setInterval(run, milliseconds);
    document.addEventListener("visibilitychange", run);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", run);
    };
  }, [milliseconds]);
}
