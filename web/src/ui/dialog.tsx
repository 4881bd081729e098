/**
 * A dialog over the page, which Escape closes; a click beside it does too, until something was typed in it. What fails in it
 * is said in it, and the field that an error names gets the focus.
 */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { Icon } from "./icons.js";
import { addOpenDialog } from "./open-dialogs.js";
import { describeError } from "./text.js";

interface DialogProps {
  title: string;
  /** It has two columns. */
  isWide?: boolean;
  /** It shows what is shown once: nothing but its own button closes it. */
  isLasting?: boolean;
  onClose: () => void;
  children: ComponentChildren;
}

export function Dialog({ title, isWide = false, isLasting = false, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const alert = useRef<HTMLParagraphElement>(null);
  const isChanged = useRef(false);
  const [failure, setFailure] = useState<unknown>(undefined);
  // At once: the next key is for the dialog.
  useLayoutEffect(() => {
    const node = element.current;
    const focused = document.activeElement;
    node?.showModal();
    const remove = addOpenDialog({ showFailure: setFailure });
    return () => {
      remove();
      node?.close();
      if (focused instanceof HTMLElement) focused.focus();
    };
  }, []);
  useLayoutEffect(() => {
    if (failure === undefined) return;
    alert.current?.scrollIntoView({ block: "nearest" });
    focusField(element.current, describeError(failure));
  }, [failure]);
  return (
    <dialog
      ref={element}
      class={`dialog ${isWide ? "is-wide" : ""}`}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        if (!isLasting) onClose();
      }}
      onInput={() => (isChanged.current = true)}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) clickSubmit(element.current, event);
      }}
      onMouseDown={(event) => event.target === element.current && !isLasting && !isChanged.current && onClose()}
    >
      <header class="dialog-head">
        <h2 class="view-title">{title}</h2>
        {!isLasting && (
          <button class="icon-button" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        )}
      </header>
      {failure !== undefined && (
        <p ref={alert} class="dialog-failure notice danger text" role="alert">
          {describeError(failure)}
        </p>
      )}
      {children}
    </dialog>
  );
}

/** Send the form in which Ctrl-Enter was pressed, also from a field of several lines. */
function clickSubmit(dialog: HTMLElement | null, event: KeyboardEvent): void {
  const form = (event.target as Element).closest("form") ?? dialog?.querySelector("form");
  if (!form) return;
  event.preventDefault();
  form.querySelector<HTMLElement>("button:not([type=button])")?.click();
}

/** Give the field that an error names the focus (`budget.tokens: 0 is less than 1`), else the one whose value it quotes. */
function focusField(dialog: HTMLElement | null, message: string): void {
  const fields = [...(dialog?.querySelectorAll<HTMLInputElement>("input, select, textarea") ?? [])];
  const path = (field: HTMLInputElement) => field.dataset["path"] ?? field.name;
  const place = /^`?([a-z][\w.]*)(?:\[\d+\][\w.[\]]*)?`?(?::| )/i.exec(message)?.[1]?.toLowerCase() ?? "";
  const isNamed = (field: HTMLInputElement) => path(field) !== "" && place === path(field).toLowerCase();
  const isAround = (field: HTMLInputElement) => path(field) !== "" && place.startsWith(`${path(field).toLowerCase()}.`);
  const isQuoted = ({ value }: HTMLInputElement) => value.trim() !== "" && ["`", '"', "'"].some((quote) => message.includes(quote + value.trim() + quote));
  const field = fields.find(isNamed) ?? fields.find(isAround) ?? fields.find(isQuoted);
  field?.closest("details")?.setAttribute("open", "");
  field?.focus();
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
