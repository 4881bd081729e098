/**
 * Commands and keys. A view adds its commands while it is shown; each is in the palette (Ctrl-K), and those with keys
 * can be typed where no text is written. A key is one character ("j") or two in a row ("g i").
 */

import { computed, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

export interface Command {
  id: string;
  title: string;
  /** The heading in the palette, such as "Inbox". */
  group: string;
  keys?: string;
  run: () => void;
  /** Not in the palette: only meaningful by key, such as "next item". */
  isKeyOnly?: boolean;
}

/** The time in which the second key of a sequence is typed. */
const SEQUENCE_TIME = 900;
const MOVEMENT_KEYS: ReadonlySet<string> = new Set(["j", "k", "ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight", "PageDown", "PageUp"]);

const groups = signal<ReadonlyMap<object, readonly Command[]>>(new Map());
/** All commands of the moment; those of the view that was shown last come first. */
export const commands = computed(() => [...groups.value.values()].reverse().flat());
export const isPaletteOpen = signal(false);
export const isHelpOpen = signal(false);

/** Add commands while a component is mounted. */
export function useCommands(list: readonly Command[]): void {
  const owner = useRef({}).current;
  const latest = useRef(list);
  latest.current = list;
  const ids = list.map((command) => `${command.id}:${command.title}`).join("\n");
  useEffect(() => {
    // The functions are looked up when they run, so that they see the present state of their component.
    const stable = latest.current.map((command) => ({
      ...command,
      run: () => latest.current.find((other) => other.id === command.id)?.run(),
    }));
    setGroup(owner, stable);
    return () => setGroup(owner, undefined);
  }, [ids]);
}

/** Add commands for ever. */
export function addCommands(list: readonly Command[]): void {
  setGroup({}, list);
}

export function installKeys(): void {
  let first = "";
  let firstAt = 0;
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      if (!event.repeat) isPaletteOpen.value = !isPaletteOpen.value;
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.isComposing) return;
    if (isTyping(event.target) || isPaletteOpen.value || document.querySelector("dialog[open]") !== null) return;
    if (event.key === "Enter" && isOperable(event.target)) return;
    const sequence = Date.now() - firstAt < SEQUENCE_TIME ? `${first} ${event.key}` : event.key;
    const command = findByKeys(sequence) ?? findByKeys(event.key);
    first = event.key;
    firstAt = command === undefined ? Date.now() : 0;
    if (command === undefined) return;
    event.preventDefault();
    // A key that is held moves on, but does nothing twice.
    if (event.repeat && !MOVEMENT_KEYS.has(event.key)) return;
    // What was clicked before would take the next Enter, which is for what these keys select.
    if (/^[jk]$/.test(event.key) && isOperable(event.target)) (event.target as HTMLElement).blur();
    command.run();
  });
}

function findByKeys(keys: string): Command | undefined {
  return commands.value.find((command) => command.keys === keys);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** Whether an element that has the focus takes Enter itself. */
function isOperable(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("a[href], button, summary") !== null;
}

function setGroup(owner: object, list: readonly Command[] | undefined): void {
  const next = new Map(groups.value);
  next.delete(owner);
  if (list !== undefined) next.set(owner, list);
  groups.value = next;
}
