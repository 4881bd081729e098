/** Give an element the focus when it appears: `ref={focusOnMount}`. The attribute `autofocus` works only if nothing has it. */
export function focusOnMount(element: HTMLElement | null): void {
  element?.focus();
}
