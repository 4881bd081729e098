/** What the forms of an answer have in common. */

import type { ComponentChildren } from "preact";

export interface FormProps<Value> {
  /** The key of what was written into it. */
  draft: string;
  /** Whether somebody has just asked for it, and writes now. */
  isWanted: boolean;
  isBusy: boolean;
  onSend: (value: Value) => void;
  onCancel: () => void;
}

export function FormButtons({ isBusy, onCancel, children }: { isBusy: boolean; onCancel: () => void; children?: ComponentChildren }) {
  return (
    <div class="decision-answers line wrap gap-2">
      <button class="button primary" disabled={isBusy}>
        Send answer
      </button>
      <button class="button quiet" type="button" onClick={onCancel}>
        Back
      </button>
      {children}
    </div>
  );
}

/** Escape leaves a form, and what was written stays; Ctrl-Enter sends it. */
export function handleKey(event: KeyboardEvent & { currentTarget: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement }, onCancel: () => void): void {
  if (event.isComposing) return;
  if (event.key === "Escape") {
    event.stopPropagation();
    onCancel();
  }
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
}
