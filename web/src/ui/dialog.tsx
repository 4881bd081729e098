/** A dialog over the page, which Escape closes. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import { Icon } from "./icons.js";

interface DialogProps {
  title: string;
  /** It has two columns. */
  isWide?: boolean;
  onClose: () => void;
  children: ComponentChildren;
}

export function Dialog({ title, isWide = false, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  // At once: the next key is for the dialog.
  useLayoutEffect(() => {
    const node = element.current;
    const focused = document.activeElement;
    node?.showModal();
    return () => {
      node?.close();
      if (focused instanceof HTMLElement) focused.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={`dialog ${isWide ? "is-wide" : ""}`}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => event.target === element.current && onClose()}
    >
      <header class="dialog-head">
        <h2 class="view-title">{title}</h2>
        <button class="icon-button" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  );
}

interface DialogActionsProps {
  /** The words on the button that submits the form. */
  action: string;
  isDisabled: boolean;
  /** It deletes or ends something; then the button has the focus at first. */
  isDanger?: boolean;
  onCancel: () => void;
}

/** The buttons of a form in a dialog. */
export function DialogActions({ action, isDisabled, isDanger = false, onCancel }: DialogActionsProps) {
  return (
    <div class="line end gap-2">
      <button class="button quiet" type="button" onClick={onCancel}>
        Cancel
      </button>
      <button class={`button ${isDanger ? "danger" : "primary"}`} disabled={isDisabled} autoFocus={isDanger}>
        {action}
      </button>
    </div>
  );
}
