/** Times: how long ago, with the exact time on hover. One clock moves them all. */

import { signal } from "@preact/signals";

import { toLine } from "./text.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The present time, to a second while the page is seen. */
export const now = signal(Date.now());
setInterval(() => document.hidden || (now.value = Date.now()), 1000);

const exactFormat = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const dayFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const yearFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const clockFormat = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

export function formatExact(time: string): string {
  return exactFormat.format(new Date(time));
}

/** Return the time that an address names; what is not a time as it is. */
export function describeInstant(time: string): string {
  return Number.isNaN(Date.parse(time)) ? toLine(time, 30) : formatExact(time).replace(/:00$/, "");
}

export function formatClock(time: string): string {
  return clockFormat.format(new Date(time));
}

/** Return the day of a time: Today, Yesterday, 3 Nov. */
export function formatDay(time: string): string {
  const date = new Date(time);
  const days = Math.round((startOfDay(new Date()) - startOfDay(date)) / DAY);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  return (date.getFullYear() === new Date().getFullYear() ? dayFormat : yearFormat).format(date);
}

/** Return how far a time is away: now, 4m, 3h, 2d, 3 Nov; "in 4m" if it is to come. */
export function formatRelative(time: string, at: number): string {
  const distance = at - Date.parse(time);
  const length = Math.abs(distance);
  if (length < 45_000) return distance >= -5000 ? "now" : `in ${Math.ceil(length / 1000)}s`;
  const text =
    length < HOUR - 30_000
      ? `${Math.max(1, Math.round(length / MINUTE))}m`
      : length < DAY
        ? `${Math.floor((length + MINUTE) / HOUR)}h`
        : length < 14 * DAY
          ? `${Math.floor(length / DAY)}d`
          : undefined;
  if (text === undefined) return formatDay(time);
  return distance < 0 ? `in ${text}` : text;
}

/** Return a length of time: 340 ms, 4.2 s, 3 m 20 s, 2 h 5 m. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < MINUTE) return `${(milliseconds / 1000).toFixed(1)} s`;
  if (milliseconds < HOUR) return `${Math.floor(milliseconds / MINUTE)} m ${Math.round((milliseconds % MINUTE) / 1000)} s`;
  if (milliseconds < DAY) return `${Math.floor(milliseconds / HOUR)} h ${Math.round((milliseconds % HOUR) / MINUTE)} m`;
  return `${Math.floor(milliseconds / DAY)} d ${Math.round((milliseconds % DAY) / HOUR)} h`;
}

interface RelativeTimeProps {
  time: string;
  /** Whether it stands in a sentence or beside a label: then it is "4m ago", where a column has "4m". */
  hasAgo?: boolean;
}

export function RelativeTime({ time, hasAgo = false }: RelativeTimeProps) {
  const text = formatRelative(time, now.value);
  return (
    <time class="time" dateTime={time} title={formatExact(time)}>
      {hasAgo && /^\d+[mhd]$/.test(text) ? `${text} ago` : text}
    </time>
  );
}

/** A time that is waited for, to the second in its last hour. */
export function Countdown({ time }: { time: string }) {
  const left = Date.parse(time) - now.value;
  const level = left <= 0 ? "danger" : left < 10 * MINUTE ? "warn" : "";
  return (
    <time class={`badge ${level}`} dateTime={time} title={formatExact(time)}>
      {left <= 0 ? "overdue" : left < HOUR ? formatMinutes(left) : `${formatDuration(left)} left`}
    </time>
  );
}

/** How long something has lasted. */
export function Elapsed({ since }: { since: string }) {
  return (
    <time class="time" dateTime={since} title={formatExact(since)}>
      {formatDuration(Math.max(0, now.value - Date.parse(since)))}
    </time>
  );
}

function formatMinutes(left: number): string {
  const seconds = Math.floor(left / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} left`;
}

function startOfDay(date: Date): number {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
}
