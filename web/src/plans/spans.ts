/** How far a time line looks ahead. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** By the length of a line: its name, and the time between two marks. */
export const SPANS = {
  "1h": { name: "hour", length: HOUR, step: 10 * MINUTE },
  "1d": { name: "day", length: DAY, step: 3 * HOUR },
  "7d": { name: "week", length: 7 * DAY, step: DAY },
} as const;

export type Span = keyof typeof SPANS;

/** Return the shortest span that shows a time, if there is one. */
export function findSpan(time: string | null): Span | undefined {
  const distance = time === null ? Infinity : Date.parse(time) - Date.now();
  return (Object.keys(SPANS) as Span[]).find((span) => distance < SPANS[span].length);
}
