/** Short messages at the edge: what was done, and what failed. */

import { signal } from "@preact/signals";

import { useCommands } from "../commands.js";
import { noticeFailure } from "../data/session.js";
import { prepareFailure } from "./open-dialogs.js";
import { describeError, toLine } from "./text.js";
import { Icon } from "./icons.js";
import { Keys } from "./parts.js";

interface Toast {
  id: number;
  text: string;
  /** How often it was said. */
  count: number;
  isError: boolean;
  undo: (() => void) | undefined;
}

const SHORT = 4000;
const LONG = 9000;
const MAX_TOASTS = 3;

const toasts = signal<readonly Toast[]>([]);
let lastId = 0;

/**
 * Show a message. News take the place of older news; what failed, and what can be undone, stays until it was read, or until
 * the same was done again. `time`: the milliseconds in which it can be undone, so that the button is not there longer.
 */
export function showToast(text: string, options: { isError?: boolean; undo?: () => void; time?: number } = {}): void {
  const id = ++lastId;
  const isError = options.isError ?? false;
  const same = toasts.value.find((other) => other.isError === isError && other.text === text);
  const toast = { id, text, count: isError ? (same?.count ?? 0) + 1 : 1, isError, undo: options.undo };
  const others = toasts.value.filter((other) => other !== same && (other.isError || other.undo !== undefined));
  toasts.value = [...others, toast].slice(-MAX_TOASTS);
  setTimeout(() => dismiss(id), options.time ?? (toast.isError || toast.undo ? LONG : SHORT));
}

/** Do something, and show why if it fails, in the dialog where it was begun if there is one; return whether it was done. */
export async function attempt(action: () => Promise<unknown>, done?: string): Promise<boolean> {
  const showInDialog = prepareFailure();
  try {
    await action();
    if (done !== undefined) showToast(done);
    return true;
  } catch (error) {
    noticeFailure(error);
    if (!showInDialog(error)) showToast(describeError(error), { isError: true });
    return false;
  }
}

export function Toasts() {
  const last = toasts.value.findLast((toast) => toast.undo !== undefined);
  const undo = (toast: Toast) => {
    dismiss(toast.id);
    toast.undo?.();
  };
  useCommands(last === undefined ? [] : [{ id: "undo", title: "Undo what was done last", group: "Page", keys: "u", run: () => undo(last) }]);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <div key={toast.id} class={`toast ${toast.isError ? "is-error" : ""}`}>
          <span class="text grow">{toLine(toast.text, 400)}</span>
          {toast.count > 1 && (
            <span class="count" aria-label={`${toast.count} times`}>
              {toast.count}
            </span>
          )}
          {toast.undo && (
            <button class="button small" title={toast === last ? "Undo (u)" : "Undo"} onClick={() => undo(toast)}>
              Undo {toast === last && <Keys keys="u" />}
            </button>
          )}
          <button class="icon-button" aria-label="Dismiss" onClick={() => dismiss(toast.id)}>
            <Icon name="close" size={14} />
          </button>
        </div>
      ))}
    </div>
  );
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}
