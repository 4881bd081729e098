/** What has the focus, and what gets it. */

/** Give an element the focus when it appears: `ref={focusOnMount}`. The attribute `autofocus` works only if nothing has it. */
export function focusOnMount(element: HTMLElement | null): void {
  element?.focus();
}

/** Whether keys are for an element that is written in. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** Whether an element that has the focus takes Enter itself. */
export function isOperable(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("a[href], button, summary") !== null;
}
