/** A list of any length of which only the rows that are seen exist. All rows have one height. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface VirtualListProps<Item> {
  items: readonly Item[];
  rowHeight: number;
  renderRow: (item: Item, index: number) => ComponentChildren;
  /** The row that is kept in sight. */
  selectedIndex: number;
  /** Called when the end is near. */
  onEnd: () => void;
  label: string;
  footer?: ComponentChildren;
}

/** Rows beyond the edges. */
const MARGIN = 8;

export function VirtualList<Item>(props: VirtualListProps<Item>) {
  const { items, rowHeight, selectedIndex, onEnd } = props;
  const element = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });

  useLayoutEffect(() => {
    const node = element.current;
    if (node === null) return;
    const measure = () => setView({ top: node.scrollTop, height: node.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(node);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const node = element.current;
    if (node === null || selectedIndex < 0) return;
    const top = selectedIndex * rowHeight;
    if (top < node.scrollTop) node.scrollTop = top;
    else if (top + rowHeight > node.scrollTop + node.clientHeight) node.scrollTop = top + rowHeight - node.clientHeight;
  }, [selectedIndex, rowHeight]);

  const first = Math.max(0, Math.floor(view.top / rowHeight) - MARGIN);
  const slots = Math.ceil(view.height / rowHeight) + 2 * MARGIN + 2; // rows that scroll out are used again
  const last = Math.min(items.length, Math.ceil((view.top + view.height) / rowHeight) + MARGIN);
  useEffect(() => {
    if (last >= items.length - MARGIN) onEnd();
  }, [last, items.length]);

  return (
    <div
      ref={element}
      class="virtual-list"
      role="list"
      aria-label={props.label}
      onScroll={({ currentTarget }) => setView({ top: currentTarget.scrollTop, height: currentTarget.clientHeight })}
    >
      <div class="virtual-rows" role="presentation" style={{ height: `${items.length * rowHeight}px` }}>
        {items.slice(first, last).map((item, offset) => (
          <div
            key={(first + offset) % slots}
            class="virtual-row"
            role="listitem"
            aria-setsize={items.length}
            aria-posinset={first + offset + 1}
            style={{ height: `${rowHeight}px`, transform: `translateY(${(first + offset) * rowHeight}px)` }}
          >
            {props.renderRow(item, first + offset)}
          </div>
        ))}
      </div>
      {props.footer}
    </div>
  );
}
