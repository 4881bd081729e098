/**
 * Completion of names in a text: after an @, the names that fit are listed, and one of them is put in.
 *
 * The field is a combobox while the list is shown: the arrow keys choose, Tab and Enter put the name in, Escape closes
 * the list. The list never has the focus, so that writing goes on.
 */

import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { Avatar, Line } from "./parts.js";

export interface NameOption {
  name: string;
  displayName: string;
  kind: "agent" | "human" | "service";
  /** Why it is listed, such as "not in this space". */
  note?: string;
}

interface Mention {
  /** Where the @ is. */
  start: number;
  /** What is written after it. */
  prefix: string;
}

const MAX_OPTIONS = 8;
const MENTION = /(?:^|[\s(\[{>"'])@([\p{L}\p{N}._-]{0,64})$/u;

/** Return the name that is being written at a position. */
export function findMention(text: string, position: number): Mention | undefined {
  const found = MENTION.exec(text.slice(Math.max(0, position - 80), position));
  if (found === null) return undefined;
  const prefix = found[1] ?? "";
  return { start: position - prefix.length - 1, prefix };
}

/** Return the options that fit, in their order; those that begin with the prefix come first. */
export function selectOptions(options: readonly NameOption[], prefix: string): readonly NameOption[] {
  const wanted = prefix.toLowerCase();
  const words = ({ name, displayName }: NameOption) => [name, displayName, ...displayName.split(/[\s._-]+/)].map((word) => word.toLowerCase());
  const first = options.filter((option) => words(option).some((word) => word.startsWith(wanted)));
  const others = options.filter((option) => !first.includes(option) && words(option).some((word) => word.includes(wanted)));
  return [...first, ...others].slice(0, MAX_OPTIONS);
}

interface CompletionProps {
  id: string;
  text: string;
  field: RefObject<HTMLTextAreaElement | null>;
  options: readonly NameOption[];
  onChange: (text: string) => void;
}

export function useCompletion({ id, text, field, options, onChange }: CompletionProps) {
  const [position, setPosition] = useState(0);
  const [index, setIndex] = useState(0);
  /** The @ whose list was closed. */
  const [closedAt, setClosedAt] = useState<number | undefined>(undefined);
  const [hasFocus, setFocus] = useState(false);
  const nextPosition = useRef<number | undefined>(undefined);
  /** The place after a name that was put in with a space: the next key may be one more. */
  const spaceEnd = useRef<number | undefined>(undefined);

  const mention = hasFocus ? findMention(text, position) : undefined;
  const shown = mention === undefined || mention.start === closedAt ? [] : selectOptions(options, mention.prefix);
  const isOpen = shown.length > 0;
  const active = Math.min(index, shown.length - 1);
  const optionId = (place: number) => `${id}-option-${place}`;

  // Before the next key, which may choose another one.
  useLayoutEffect(() => setIndex(0), [mention?.start, mention?.prefix]);
  useLayoutEffect(() => {
    if (mention === undefined) setClosedAt(undefined);
  }, [mention === undefined]);
  useLayoutEffect(() => {
    if (nextPosition.current === undefined) return;
    field.current?.setSelectionRange(nextPosition.current, nextPosition.current);
    setPosition(nextPosition.current);
    nextPosition.current = undefined;
  }, [text]);

  const follow = () => setPosition(field.current?.selectionStart ?? 0);
  const choose = (option: NameOption | undefined) => {
    if (mention === undefined || option === undefined) return;
    const rest = text.slice(position);
    const name = `@${option.name}${rest.startsWith(" ") ? "" : " "}`;
    nextPosition.current = spaceEnd.current = mention.start + option.name.length + 2;
    onChange(text.slice(0, mention.start) + name + rest);
    field.current?.focus();
  };
  /** Handle a key of the field; return whether it was for the list. */
  const handleKey = (event: KeyboardEvent): boolean => {
    const isSecondSpace = event.key === " " && field.current?.selectionStart === spaceEnd.current;
    spaceEnd.current = undefined;
    if (isSecondSpace) return event.preventDefault(), true;
    if (!isOpen || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return false;
    if (event.key === "ArrowDown") setIndex((active + 1) % shown.length);
    else if (event.key === "ArrowUp") setIndex((active + shown.length - 1) % shown.length);
    else if (event.key === "Escape") setClosedAt(mention?.start);
    else if ((event.key === "Enter" || event.key === "Tab") && !event.shiftKey) choose(shown[active]);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };

  const attributes: Record<string, string | boolean> = isOpen
    ? {
        role: "combobox",
        "aria-autocomplete": "list",
        "aria-haspopup": "listbox",
        "aria-expanded": true,
        "aria-controls": `${id}-list`,
        "aria-activedescendant": optionId(active),
      }
    : { "aria-autocomplete": "list" };
  const list = isOpen ? (
    <ul class="completion" id={`${id}-list`} role="listbox" aria-label="Names">
      {shown.map((option, place) => (
        <li
          key={option.name}
          id={optionId(place)}
          class="completion-option sm line gap-2"
          role="option"
          aria-selected={place === active}
          onMouseDown={(event) => event.preventDefault()}
          onMouseMove={() => place !== active && setIndex(place)}
          onClick={() => choose(option)}
        >
          <Avatar name={option.displayName} kind={option.kind} isSmall />
          <Line text={option.displayName} limit={60} class="completion-name strong" />
          <Line text={`@${option.name}`} limit={60} class="muted grow" />
          {option.note !== undefined && <span class="muted xs">{option.note}</span>}
        </li>
      ))}
    </ul>
  ) : null;
  return { list, attributes, handleKey, follow, setFocus };
}
