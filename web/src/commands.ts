/**
 * Commands and keys. A view adds its commands while it is shown; each is in the palette (Ctrl-K), and those with keys
 * can be typed where no text is written. A key is one character ("j") or two in a row ("g i").
 */

import { computed, signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import { dropKeys, installEarlyKeys, readTime } from "./early-keys.js";
import { navigate, path } from "./router.js";
import { isOperable, isTyping } from "./ui/focus.js";

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
const MOVEMENT_KEYS: ReadonlySet<string> = new Set(["j", "k", "J", "K", "ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight", "PageDown", "PageUp"]);

const groups = signal<ReadonlyMap<object, readonly Command[]>>(new Map());
/** All commands of the moment; those of the view that was shown last come first. */
export const commands = computed(() => [...groups.value.values()].reverse().flat());
export const isPaletteOpen = signal(false);
export const isHelpOpen = signal(false);
/** The command that runs as soon as the view that is opened for it has added it. */
let awaited: { id: string; path: string } | undefined;
/** Those that need no view. */
let lastingCommands: readonly Command[] = [];

/** Add commands while a component is mounted. */
export function useCommands(list: readonly Command[]): void {
  const owner = useRef({}).current;
  const latest = useRef(list);
  latest.current = list;
  const ids = list.map((command) => `${command.id}:${command.title}`).join("\n");
  // Before the view is painted: a key may come as soon as it is seen.
  useLayoutEffect(() => {
    // The functions are looked up when they run, so that they see the present state of their component.
    const stable = latest.current.map((command) => ({
      ...command,
      run: () => latest.current.find((other) => other.id === command.id)?.run(),
    }));
    setGroup(owner, stable);
    const wanted = awaited?.path === path.peek() ? stable.find(({ id }) => id === awaited?.id) : undefined;
    if (wanted !== undefined) {
      awaited = undefined;
      wanted.run();
    }
    return () => setGroup(owner, undefined);
  }, [ids]);
}

/** Go to a view, and run a command of it when it is there. */
export function runInView(target: string, id: string): void {
  const command = path.peek() === target ? commands.value.find((other) => other.id === id) : undefined;
  if (command !== undefined) return command.run();
  awaited = { id, path: target };
  navigate(target);
}

/** Add commands for ever. */
export function addCommands(list: readonly Command[]): void {
  lastingCommands = [...lastingCommands, ...list];
  setGroup({}, list);
}

export function installKeys(): void {
  installEarlyKeys(runLastingCommand);
  let first = "";
  let firstAt = -Infinity;
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      if (event.repeat) return;
      dropKeys();
      isPaletteOpen.value = !isPaletteOpen.value;
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.isComposing) return;
    if (isTyping(event.target) || isPaletteOpen.value || document.querySelector("dialog[open]") !== null) return;
    if (event.key === "Enter" && isOperable(event.target)) return;
    // When it was pressed, however late a busy page learns of it.
    const time = readTime(event);
    const sequence = time - firstAt < SEQUENCE_TIME ? `${first} ${event.key}` : event.key;
    const command = findByKeys(sequence) ?? findByKeys(event.key);
    first = event.key;
    firstAt = command === undefined ? time : -Infinity;
    if (command === undefined) return;
    event.preventDefault();
    // A key that is held moves on, but does nothing twice.
    if (event.repeat && !MOVEMENT_KEYS.has(event.key)) return;
    // What was clicked before would take the next Enter, which is for what these keys select.
    if (/^[jk]$/i.test(event.key) && isOperable(event.target)) (event.target as HTMLElement).blur();
    command.run();
  });
}

function findByKeys(keys: string, list: readonly Command[] = commands.value): Command | undefined {
  return list.find((command) => command.keys === keys);
}

/** Run the command of a key, or of it and the one before, if it needs no view; return whether it was run. */
function runLastingCommand(event: KeyboardEvent, before: KeyboardEvent | undefined): boolean {
  const isSequence = before !== undefined && readTime(event) - readTime(before) < SEQUENCE_TIME;
  if (before !== undefined && !isSequence) return false;
  const command = findByKeys(before === undefined ? event.key : `${before.key} ${event.key}`, lastingCommands);
  command?.run();
  return command !== undefined;
}

function setGroup(owner: object, list: readonly Command[] | undefined): void {
  const next = new Map(groups.value);
  next.delete(owner);
  if (list !== undefined) next.set(owner, list);
  groups.value = next;
}
