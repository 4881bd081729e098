/** The keys of a list: j and k select a row, Enter opens it. The selected row has the class `is-selected`. */

import { useState } from "preact/hooks";

import { useCommands } from "../commands.js";

interface RowKeys<Item> {
  /** The position of the selected row, or -1. */
  index: number;
  item: Item | undefined;
  select: (index: number) => void;
}

/** With `keyOf` the selection stays on its row when the rows change places. */
export function useRowKeys<Item>(group: string, items: readonly Item[], open: (item: Item) => void, keyOf?: (item: Item) => string): RowKeys<Item> {
  const [selected, setSelected] = useState<{ index: number; key?: string | undefined }>({ index: -1 });
  const moved = keyOf === undefined || selected.key === undefined ? -1 : items.findIndex((other) => keyOf(other) === selected.key);
  const index = moved >= 0 ? moved : Math.min(selected.index, items.length - 1);
  const item = items[index];
  const select = (next: number) => {
    const place = Math.max(0, Math.min(items.length - 1, next));
    const row = items[place];
    setSelected({ index: place, key: row === undefined ? undefined : keyOf?.(row) });
    requestAnimationFrame(() => document.querySelector("#content .is-selected")?.scrollIntoView({ block: "nearest" }));
  };
  useCommands([
    { id: "next-row", title: "Next row", group, keys: "j", run: () => select(index + 1), isKeyOnly: true },
    { id: "previous-row", title: "Previous row", group, keys: "k", run: () => select(index - 1), isKeyOnly: true },
    { id: "open-row", title: "Open the selected row", group, keys: "Enter", run: () => item !== undefined && open(item), isKeyOnly: true },
  ]);
  return { index, item, select };
}
