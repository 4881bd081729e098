/** Short messages at the edge: what was done, and what failed. */

import { signal } from "@preact/signals";

import { noticeFailure } from "../data/session.js";
import { describeError, toLine } from "./text.js";
import { Icon } from "./icons.js";

interface Toast {
  id: number;
  text: string;
  isError: boolean;
  undo: (() => void) | undefined;
}

const SHORT = 4000;
const LONG = 9000;
const MAX_TOASTS = 4;

const toasts = signal<readonly Toast[]>([]);
let lastId = 0;

export function showToast(text: string, options: { isError?: boolean; undo?: () => void } = {}): void {
  const id = ++lastId;
  const toast = { id, text, isError: options.isError ?? false, undo: options.undo };
  toasts.value = [...toasts.value, toast].slice(-MAX_TOASTS);
  setTimeout(() => dismiss(id), toast.isError || toast.undo ? LONG : SHORT);
}

/** Do something, and show why if it fails; return whether it was done. */
export async function attempt(action: () => Promise<unknown>, done?: string): Promise<boolean> {
  try {
    await action();
    if (done !== undefined) showToast(done);
    return true;
  } catch (error) {
    noticeFailure(error);
    showToast(describeError(error), { isError: true });
    return false;
  }
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <div key={toast.id} class={`toast ${toast.isError ? "is-error" : ""}`}>
          <span class="text grow">{toLine(toast.text, 400)}</span>
          {toast.undo && (
            <button
              class="button small"
              onClick={() => {
                toast.undo?.();
                dismiss(toast.id);
              }}
            >
              Undo
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
