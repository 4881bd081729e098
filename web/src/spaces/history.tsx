/**
 * The messages of a space, or the entries of a chat. Only a window of them is in the page, however many are loaded: it
 * moves when its edge comes near, and the message at the top of the view stays where it is. At the end, the view follows
 * what is written.
 */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { Icon } from "../ui/icons.js";
import { formatDay } from "../ui/time.js";

/** What has a place in a history. */
interface Entry {
  seq: number;
  sender: string | null;
  createdAt: string;
}

interface HistoryProps<Message extends Entry> {
  messages: readonly Message[];
  /** `isFollowing`: whether a message goes on where the one before ended. */
  renderMessage: (message: Message, isFollowing: boolean) => ComponentChildren;
  /** How many are being sent, and these with what is being written. */
  sentCount: number;
  tail: ComponentChildren;
  hasOlder: boolean;
  /** What is above the first message of all. */
  beginning: ComponentChildren;
  firstUnread?: number | undefined;
  onOlder: () => Promise<void>;
  onRead: (seq: number) => void;
}

/** Messages in the page, and by how many the window moves. */
const WINDOW = 160;
const STEP = 40;
/** Pixels from an edge at which the window moves, and from the end at which the view follows. */
const NEAR = 600;
const PINNED = 80;

export function History<Message extends Entry>(props: HistoryProps<Message>) {
  const { messages, sentCount, hasOlder, firstUnread, onOlder, onRead } = props;
  /** The number of the last message in the window; undefined is the newest. */
  const [lastSeq, setLastSeq] = useState<number | undefined>(undefined);
  const [isAway, setAway] = useState(false);
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const isPinned = useRef(true);
  const anchor = useRef<{ seq: string; top: number } | undefined>(undefined);

  const found = lastSeq === undefined ? -1 : messages.findIndex((message) => message.seq >= lastSeq);
  const end = found === -1 ? messages.length : found + 1;
  const start = Math.max(0, end - WINDOW);
  const isAtTail = end === messages.length;

  const settle = () => {
    const node = scroller.current;
    if (node === null) return;
    if (isPinned.current) node.scrollTop = node.scrollHeight;
    else if (anchor.current !== undefined) {
      const row = node.querySelector(`[data-seq="${anchor.current.seq}"]`);
      if (row !== null) node.scrollTop += row.getBoundingClientRect().top - anchor.current.top;
    }
  };
  const move = (node: HTMLElement) => {
    const below = node.scrollHeight - node.scrollTop - node.clientHeight;
    isPinned.current = isAtTail && below < PINNED;
    setAway(!isPinned.current && (!isAtTail || below > node.clientHeight));
    anchor.current = isPinned.current ? undefined : findAnchor(node);
    if (node.scrollTop < NEAR && start > 0) setLastSeq(messages[Math.max(end - STEP, Math.min(end, WINDOW)) - 1]?.seq);
    else if (node.scrollTop < NEAR && hasOlder) void onOlder().catch(() => undefined);
    else if (below < NEAR && !isAtTail) setLastSeq(end + STEP >= messages.length ? undefined : messages[end + STEP - 1]?.seq);
    readToEnd();
  };
  /** What is at the end is read if the end is seen. */
  const readToEnd = () => {
    const last = messages.at(-1);
    if (last !== undefined && isPinned.current && !document.hidden) onRead(last.seq);
  };

  useLayoutEffect(settle, [start, end, messages[start]?.seq, sentCount]);
  // What has just come may not be enough to fill the view.
  useEffect(() => {
    settle();
    if (scroller.current !== null) move(scroller.current);
  }, [start, end, messages[0]?.seq]);
  useEffect(() => {
    const node = content.current;
    if (node === null) return;
    const observer = new ResizeObserver(settle);
    observer.observe(node);
    if (scroller.current !== null) observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    readToEnd();
    document.addEventListener("visibilitychange", readToEnd);
    return () => document.removeEventListener("visibilitychange", readToEnd);
  }, [messages.at(-1)?.seq]);
  useEffect(() => {
    if (sentCount === 0) return;
    isPinned.current = true; // who writes wants to see it
    setLastSeq(undefined);
    settle();
  }, [sentCount]);

  const jump = () => {
    isPinned.current = true;
    setLastSeq(undefined);
    setAway(false);
    requestAnimationFrame(settle);
  };
  const shown = messages.slice(start, end);
  return (
    <div class="history-frame fill">
      <div ref={scroller} class="history" tabIndex={0} role="log" aria-label="Messages" aria-live="off" onScroll={(event) => move(event.currentTarget)}>
        <div ref={content} class="history-content">
          {start === 0 && !hasOlder && <div class="history-start sm muted">{props.beginning}</div>}
          {start === 0 && hasOlder && <p class="history-start sm muted">Loading older messages …</p>}
          {shown.map((message, index) => {
            const before = shown[index - 1];
            const isNewDay = before === undefined || formatDay(before.createdAt) !== formatDay(message.createdAt);
            const isUnread = message.seq === firstUnread;
            return (
              <div key={message.seq} data-seq={message.seq} class="history-row">
                {isNewDay && <p class="day-line line gap-3 muted xs strong">{formatDay(message.createdAt)}</p>}
                {isUnread && <p class="unread-line line gap-3 xs strong">New</p>}
                {props.renderMessage(message, !isNewDay && !isUnread && isFollowing(before, message))}
              </div>
            );
          })}
          {isAtTail && props.tail}
        </div>
      </div>
      {isAway && (
        <button class="button jump-button" onClick={jump}>
          <Icon name="down" size={14} /> Newest messages
        </button>
      )}
    </div>
  );
}

/** Whether a message goes on where the one before ended. */
function isFollowing(before: Entry | undefined, message: Entry): boolean {
  return before?.sender === message.sender && Date.parse(message.createdAt) - Date.parse(before.createdAt) < 300_000;
}

/** Return the first message that is seen, and where it is. */
function findAnchor(node: HTMLElement): { seq: string; top: number } | undefined {
  const edge = node.getBoundingClientRect().top;
  for (const row of node.querySelectorAll<HTMLElement>("[data-seq]")) {
    const box = row.getBoundingClientRect();
    if (box.bottom > edge) return { seq: row.dataset["seq"] ?? "", top: box.top };
  }
  return undefined;
}
