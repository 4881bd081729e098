/** The time until something fires, to the second in its last minutes. */

import { formatDuration, formatExact, now } from "../ui/time.js";
import { formatMoment } from "./describe.js";

const SOON = 10 * 60_000;
const DAY = 24 * 60 * 60_000;

export function NextCountdown({ time }: { time: string }) {
  const left = Date.parse(time) - now.value;
  return (
    <time class={`number ${left <= SOON ? "is-due" : ""}`} dateTime={time} title={formatExact(time)}>
      {left <= 0 ? "due now" : left < SOON ? `in ${formatClockLength(left)}` : left < DAY ? `in ${formatDuration(left)}` : formatMoment(time)}
    </time>
  );
}

function formatClockLength(left: number): string {
  const seconds = Math.ceil(left / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
