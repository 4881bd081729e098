/** The keys of a list: j and k select a row, Enter opens it. The selected row has the class `is-selected`. */

import { useState } from "preact/hooks";

import { useCommands } from "../commands.js";

interface RowKeys<Item> {
  /** The position of the selected row, or -1. */
  index: number;
  item: Item | undefined;
  select: (index: number) => void;
}

export function useRowKeys<Item>(group: string, items: readonly Item[], open: (item: Item) => void): RowKeys<Item> {
  const [selected, setSelected] = useState(-1);
  const index = Math.min(selected, items.length - 1);
  const item = items[index];
  const select = (next: number) => {
    setSelected(Math.max(0, Math.min(items.length - 1, next)));
    requestAnimationFrame(() => document.querySelector("#content .is-selected")?.scrollIntoView({ block: "nearest" }));
  };
  useCommands([
    { id: "next-row", title: "Next row", group, keys: "j", run: () => select(index + 1), isKeyOnly: true },
    { id: "previous-row", title: "Previous row", group, keys: "k", run: () => select(index - 1), isKeyOnly: true },
    { id: "open-row", title: "Open the selected row", group, keys: "Enter", run: () => item !== undefined && open(item), isKeyOnly: true },
  ]);
  return { index, item, select };
}
