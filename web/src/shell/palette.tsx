/** The command palette: every command, space, agent, person and open decision by a few letters. */

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { commands, isPaletteOpen, type Command } from "../commands.js";
import { addUniqueName, agents, decisions, displayName, people } from "../data/live.js";
import { spaces } from "../data/spaces.js";
import { dropKeys, holdKeys } from "../early-keys.js";
import { buildPath, navigate } from "../router.js";
import { Keys, Line } from "../ui/parts.js";
import { toLine } from "../ui/text.js";
import { canOpen } from "../views.js";
import { listMakers } from "./makers.js";

const MAX_RESULTS = 60;

export function Palette() {
  const [text, setText] = useState("");
  const [selected, setSelected] = useState(0);
  /** Whether Enter was pressed before everything was there. */
  const [isChosen, setChosen] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const everything = useMemo(listEverything, [commands.value, spaces.value, agents().value.agents, decisions().value.decisions]);
  const results = useMemo(() => search(everything, text).slice(0, MAX_RESULTS), [everything, text]);
  const index = Math.min(selected, results.length - 1);
  const isLoading = spaces.value === undefined || agents().value.isLoading || decisions().value.isLoading;

  const close = () => (isPaletteOpen.value = false);
  const run = (command: Command | undefined) => {
    setChosen(false);
    if (command === undefined) return dropKeys();
    close();
    command.run();
  };
  // At once: the next key is for its field.
  useLayoutEffect(() => {
    const focused = document.activeElement;
    const node = dialog.current;
    node?.showModal();
    return () => {
      node?.close();
      if (focused instanceof HTMLElement) focused.focus();
    };
  }, []);
  useLayoutEffect(() => list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }), [index]);
  useLayoutEffect(() => {
    if (isChosen && isLoading) return holdKeys(field.current);
    if (isChosen) run(results[index]);
    return undefined;
  }, [isChosen, isLoading]);

  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) setSelected((index + step + results.length) % Math.max(1, results.length));
    else if (event.key === "Enter" && isLoading) setChosen(true);
    else if (event.key === "Enter") run(results[index]);
    else return;
    event.preventDefault();
  };

  return (
    <dialog ref={dialog} class="palette" aria-label="Commands" onCancel={close} onMouseDown={(event) => event.target === dialog.current && close()}>
      <input
        ref={field}
        class="palette-input"
        type="text"
        placeholder="Type a command, a space, an agent …"
        aria-label="Search commands"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-results"
        aria-activedescendant={index >= 0 ? `palette-${index}` : undefined}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setSelected(0);
          setChosen(false);
        }}
        onKeyDown={onKeyDown}
        autoFocus
      />
      <ul ref={list} class="palette-results" id="palette-results" role="listbox" aria-label="Results">
        {results.map((command, position) => (
          <li
            key={command.group + command.id}
            id={`palette-${position}`}
            class="palette-result"
            role="option"
            aria-selected={position === index}
            onMouseMove={() => setSelected(position)}
            onClick={() => run(command)}
          >
            <span class="palette-group">{command.group}</span>
            <Line text={command.title} class="grow" />
            {command.keys && <Keys keys={command.keys} />}
          </li>
        ))}
        {results.length === 0 && <li class="palette-none">No match.</li>}
      </ul>
    </dialog>
  );
}

function listEverything(): Command[] {
  const go = (group: string, id: string, title: string, target: string): readonly Command[] => (canOpen(target) ? [{ id, title, group, run: () => navigate(target) }] : []);
  return [
    ...commands.value.filter((command) => !command.isKeyOnly),
    ...listMakers(commands.value),
    ...(spaces.value ?? []).flatMap((space) => go("Space", space.id, space.name, buildPath("spaces", space.id))),
    ...agents().value.agents.flatMap((agent) => go("Agent", agent.name, addUniqueName(agent.name, agent.displayName), buildPath("agents", agent.name))),
    ...decisions().value.decisions.flatMap((decision) => go("Decision", decision.id, toLine(decision.question, 120), buildPath("decisions", decision.id))),
    ...people.value.flatMap((person) => go("Inbox of", person.name, displayName(person.name), buildPath("inbox", person.name))),
    ...agents().value.agents.flatMap((agent) => go("Inbox of", `inbox-${agent.name}`, addUniqueName(agent.name, agent.displayName), buildPath("inbox", agent.name))),
  ];
}

/** Return what has all the words, the best match first. */
function search(list: readonly Command[], text: string): Command[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...list];
  const scored = list.flatMap((command) => {
    const name = `${command.title} ${command.group} ${command.id}`.toLowerCase();
    let score = 0;
    for (const word of words) {
      const position = name.indexOf(word);
      if (position === -1) return [];
      score += position === 0 ? 0 : name[position - 1] === " " ? 1 : 3;
    }
    return [{ command, score }];
  });
  return scored.sort((a, b) => a.score - b.score).map(({ command }) => command);
}
