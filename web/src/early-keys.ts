/**
 * Keys that come early: while the view or the dialog that they are for is being loaded, or a form is being sent. They wait,
 * and are pressed again in their order when it is there.
 *
 *     g i j e         j and e wait until the items of the inbox are there
 *     Enter Hello     in the form of a new space: "Hello" is put into the field to write in of that space
 *
 * What has the focus takes its keys itself meanwhile: a field, a button, a dialog. A click, Tab and another address end
 * the waiting, because the keys were for what was there before.
 */

import { effect, signal } from "@preact/signals";

import { isOperable, isTyping } from "./ui/focus.js";

interface Hold {
  /** What had the focus when a form was sent, and is typed into in vain; undefined while something is loaded. */
  sentFrom: EventTarget | null | undefined;
  /** The dialog whose content is loaded; null if it is that of the view. */
  dialog: Element | null;
}

/** Milliseconds after which a key for a view is forgotten: nobody waits for it any more. */
const MAX_AGE = 15_000;
const KEPT_KEYS = /^(.|Enter|Backspace|Escape|Arrow(Up|Down|Left|Right)|Page(Up|Down))$/u;

const holds = signal<ReadonlySet<Hold>>(new Set());
let waiting: { event: KeyboardEvent; isForForm: boolean }[] = [];
let isReplaying = false;
/** What was typed to choose an option. */
let choice: { field: Element; letters: string } | undefined;
/** The times of keys that are pressed again, by the new event. */
const times = new WeakMap<Event, number>();

/**
 * Let keys wait until the returned function is called. Who sends a form says where: its keys are for what comes after it.
 * Who loads something says what is shown meanwhile.
 */
export function holdKeys(sentFrom?: EventTarget | null, shown?: Element | null): () => void {
  const hold = { sentFrom, dialog: shown?.closest("dialog") ?? null };
  holds.value = new Set(holds.value).add(hold);
  return () => {
    holds.value = new Set([...holds.value].filter((other) => other !== hold));
    void replay();
  };
}

/** Forget the keys that wait, because what they were for does not come. */
export function dropKeys(): void {
  waiting = [];
}

/** Return when a key was pressed, in milliseconds. */
export function readTime(event: KeyboardEvent): number {
  return times.get(event) ?? event.timeStamp;
}

/**
 * Keep keys that come early. `runAtOnce` is asked first about a key that follows at most one that waits, and returns
 * whether it was for a command that needs no view.
 */
export function installEarlyKeys(runAtOnce: (event: KeyboardEvent, before: KeyboardEvent | undefined) => boolean): void {
  effect(() => void document.documentElement.toggleAttribute("data-ready", holds.value.size === 0));
  addEventListener("pointerdown", dropKeys, { capture: true });
  addEventListener("popstate", dropKeys);
  addEventListener(
    "keydown",
    (event) => {
      if (times.has(event)) return;
      if (event.key === "Tab" || (event.key === "Escape" && findDialog() !== null)) dropKeys();
      if (!isKeptKey(event)) return;
      const isForForm = isSent(event.target);
      if (!isReplaying && !isForForm && !isAwaited(event)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      waiting = waiting.filter((entry) => entry.isForForm || !isOld(entry.event));
      // Whoever presses Enter twice sends a form once.
      if (isForForm && waiting.length === 0 && /^(Enter| )$/.test(event.key)) return;
      const canRun = !isReplaying && waiting.length < 2 && !isTyping(event.target) && findDialog() === null;
      if (canRun && runAtOnce(event, waiting[0]?.event)) dropKeys();
      else waiting.push({ event, isForForm });
    },
    { capture: true },
  );
}

function isKeptKey(event: KeyboardEvent): boolean {
  const { key, ctrlKey, metaKey, altKey } = event;
  if (event.isComposing || altKey || ((ctrlKey || metaKey) && key !== "Enter")) return false;
  // An open dialog is closed by Escape whatever goes on in it.
  return KEPT_KEYS.test(key) && (key !== "Escape" || isReplaying || findDialog() === null);
}

/** Whether a key is typed where a form is being sent. */
function isSent(target: EventTarget | null): boolean {
  return [...holds.value].some(({ sentFrom }) => sentFrom !== undefined && (sentFrom === target || !isTyping(target)));
}

/** Whether a key is for what is being loaded. */
function isAwaited({ key, target }: KeyboardEvent): boolean {
  return isLoading(target) && !(/^(Enter| )$/.test(key) && isOperable(target));
}

/** Whether what the keys of the moment are for is being loaded: the open dialog, else the view. */
function isLoading(target: EventTarget | null): boolean {
  const dialog = findDialog();
  return !isTyping(target) && [...holds.value].some((hold) => hold.dialog === dialog);
}

function isOld(event: KeyboardEvent): boolean {
  return performance.now() - event.timeStamp > MAX_AGE;
}

/** Return the dialog that is open, above all others. */
function findDialog(): Element | null {
  return [...document.querySelectorAll("dialog[open]")].at(-1) ?? null;
}

/** Press the keys that wait, each when what the one before has done is seen; stop where they have to wait again. */
async function replay(): Promise<void> {
  if (isReplaying || waiting.length === 0) return;
  isReplaying = true;
  choice = undefined;
  await new Promise(requestAnimationFrame);
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve));
    const target = document.activeElement ?? document.body;
    if (isSent(target) || isLoading(target)) break;
    const next = waiting.shift();
    if (next === undefined) break;
    if (next.isForForm || !isOld(next.event)) press(target, next.event);
  }
  isReplaying = false;
}

/** Press a key again; what a browser does by itself is only done for keys that a person has pressed, so it is done here. */
function press(target: Element, original: KeyboardEvent): void {
  const event = new KeyboardEvent("keydown", original);
  times.set(event, original.timeStamp);
  if (!target.dispatchEvent(event)) return;
  const { key } = event;
  if (key === "Escape") findDialog()?.dispatchEvent(new Event("cancel", { cancelable: true }));
  else if (isOperable(target)) /^(Enter| )$/.test(key) && (target as HTMLElement).click();
  else if (key === "Enter" && target instanceof HTMLInputElement) target.form?.querySelector<HTMLElement>("button:not([type=button])")?.click();
  else if (target instanceof HTMLSelectElement) chooseOption(target, key);
  else if (isTyping(target)) typeInto(key);
}

/** Choose the option that begins with what was typed. */
function chooseOption(field: HTMLSelectElement, key: string): void {
  const before = choice?.field === field ? choice.letters : "";
  choice = { field, letters: before + key.toLowerCase() };
  const option = [...field.options].find(({ text }) => text.toLowerCase().startsWith(before + key.toLowerCase()));
  if (option === undefined || option.selected) return;
  option.selected = true;
  for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, { bubbles: true }));
}

/** Type into the field that has the focus. No other function does it with all that follows: limits, events and undo. */
function typeInto(key: string): void {
  if (key === "Backspace") document.execCommand("delete");
  else if (key === "Enter") document.execCommand("insertText", false, "\n");
  else if ([...key].length === 1) document.execCommand("insertText", false, key);
}
