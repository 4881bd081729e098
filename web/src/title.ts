/** The title of the page, which is in its tab and its history: what is shown, the view, and Gatepost. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { toLine } from "./ui/text.js";

const MAX_LENGTH = 60;
/** What is shown, by the component that shows it; the innermost was added last. */
const subjects = signal<ReadonlyMap<object, string>>(new Map());

/** Name what a component shows as long as it does, such as the name of a space; undefined until it is loaded. */
export function useSubject(text: string | undefined): void {
  useEffect(() => {
    if (text === undefined || text === "") return;
    const owner = {};
    subjects.value = new Map(subjects.value).set(owner, toLine(text, MAX_LENGTH));
    return () => {
      subjects.value = new Map([...subjects.value].filter(([other]) => other !== owner));
    };
  }, [text]);
}

/** Return the title for a view; the home view has none. */
export function buildTitle(view: string | undefined): string {
  const subject = [...subjects.value.values()].at(-1);
  return [subject, view, "Gatepost"].filter(Boolean).join(" · ");
}
