/** Small parts that every view uses. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import { holdKeys } from "../early-keys.js";
import { describeError, toLine } from "./text.js";
import { Icon, type IconName } from "./icons.js";

/** A stranger's words on one line. */
export function Line({ text, limit, class: name = "" }: { text: string; limit?: number; class?: string }) {
  return (
    <bdi class={`line-text ${name}`} dir="auto">
      {toLine(text, limit)}
    </bdi>
  );
}

interface AvatarProps {
  name: string;
  kind?: "agent" | "human" | "service" | null;
  isSmall?: boolean;
  isActive?: boolean;
}

export function Avatar({ name, kind = "agent", isSmall = false, isActive = false }: AvatarProps) {
  let sum = 0;
  for (const char of name.slice(0, 40)) sum = (sum * 31 + (char.codePointAt(0) ?? 0)) % 997;
  const classes = ["avatar", `tint-${sum % 6}`, kind ?? "", isSmall ? "small" : "", isActive ? "active" : ""];
  return (
    <span class={classes.filter(Boolean).join(" ")} aria-hidden="true">
      {initials(name)}
    </span>
  );
}

const PRIORITIES = ["critical", "high", "normal", "low", "fyi"] as const;

export function describePriority(priority: number): string {
  return PRIORITIES[priority] ?? "normal";
}

export function Priority({ level }: { level: number }) {
  const name = describePriority(level);
  return (
    <span class={`priority level-${level}`} role="img" aria-label={`${name} priority`} title={`${name} priority`}>
      <i />
      <i />
      <i />
    </span>
  );
}

interface EmptyProps {
  icon: IconName;
  title: string;
  children?: ComponentChildren;
}

/** Nothing is here, and what to do about it. */
export function Empty({ icon, title, children }: EmptyProps) {
  return (
    <div class="empty">
      <Icon name={icon} size={28} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

interface SkeletonProps {
  rows?: number;
  /** Whether the keys of the view need not wait for this part. */
  hasKeys?: boolean;
}

/** What is being loaded. Keys wait until it is there. */
export function Skeleton({ rows = 6, hasKeys = false }: SkeletonProps) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => (hasKeys ? undefined : holdKeys(undefined, element.current)), []);
  return (
    <div ref={element} class="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        <i key={index} />
      ))}
    </div>
  );
}

export function Failure({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  return (
    <Empty icon="alert" title="This could not be loaded">
      <p class="text">{describeError(error)}</p>
      {onRetry && (
        <button class="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </Empty>
  );
}

interface UnloadedProps {
  /** What was to be shown: "Agent". */
  title: string;
  /** The address of the list that it is in. */
  back: string;
  backLabel: string;
  error: Error | undefined;
  onRetry?: () => void;
}

/** A view of one thing that is not there yet, or cannot be had; with the way back. */
export function Unloaded({ title, back, backLabel, error, onRetry }: UnloadedProps) {
  return (
    <>
      <header class="view-head">
        <a class="icon-button" href={back} aria-label={backLabel}>
          <Icon name="back" />
        </a>
        <h1>{title}</h1>
      </header>
      {error === undefined ? <Skeleton /> : <Failure error={error} {...(onRetry && { onRetry })} />}
    </>
  );
}

/** Somebody is at work. */
export function Dots() {
  return (
    <span class="dots" aria-hidden="true">
      <i />
      <i />
      <i />
    </span>
  );
}

export function Keys({ keys }: { keys: string }) {
  return (
    <span class="keys">
      {keys.split(" ").map((key) => (
        <kbd class="kbd" key={key}>
          {key}
        </kbd>
      ))}
    </span>
  );
}

function initials(name: string): string {
  const words = toLine(name, 40).split(/[\s._-]+/).filter((word) => /^[\p{L}\p{N}]/u.test(word));
  const letters = words.length > 1 ? [words[0], words.at(-1)].map((word) => firstLetter(word)) : [[...(words[0] ?? "?")].slice(0, 2).join("")];
  return letters.join("").toUpperCase();
}

function firstLetter(word: string | undefined): string {
  return [...(word ?? "")][0] ?? "";
}
