/** Loads of a view: what was loaded, why it failed, and whether it is under way. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { isOffline } from "./feed.js";
import { noticeFailure } from "./session.js";

export interface Load<Value> {
  value: Value | undefined;
  error: Error | undefined;
  isLoading: boolean;
  reload: () => void;
}

/** Load a value, and again when a dependency changes; the old value is shown until then only on `reload`. */
export function useLoad<Value>(load: (signal: AbortSignal) => Promise<Value>, dependencies: readonly unknown[]): Load<Value> {
  const [state, setState] = useState<{ value?: Value; error?: Error; isLoading: boolean; key: string }>({
    isLoading: true,
    key: "",
  });
  const [version, setVersion] = useState(0);
  const key = JSON.stringify(dependencies);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const controller = new AbortController();
    const keep = (old: typeof state) => (old.key === key ? old : { isLoading: true, key });
    setState((old) => ({ ...keep(old), isLoading: true }));
    latest.current(controller.signal).then(
      (value) => controller.signal.aborted || setState({ value, isLoading: false, key }),
      (error: Error) => {
        if (controller.signal.aborted) return;
        noticeFailure(error);
        setState((old) => ({ ...keep(old), error, isLoading: false }));
      },
    );
    return () => controller.abort();
  }, [key, version]);
  const reload = useCallback(() => setVersion((old) => old + 1), []);
  const isCurrent = state.key === key;
  return {
    value: isCurrent ? state.value : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading: state.isLoading || !isCurrent,
    reload,
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
