/**
 * Fires on a time line: a lane for each plan and schedule, a dot for each fire. What comes is right of the line of now
 * and moves towards it; what has fired is left of it.
 */

import type { Fire } from "@gatepost/client";
import { useState } from "preact/hooks";

import { Icon } from "../ui/icons.js";
import { Line } from "../ui/parts.js";
import { plural, toLine } from "../ui/text.js";
import { formatClock, formatExact, formatRelative, now } from "../ui/time.js";
import { justFired } from "./follow.js";
import { pathOf } from "./load.js";
import { DAY, SPANS, type Span } from "./spans.js";

/** The part of the line that has passed. */
const PAST = 0.14;
/** Dots that are nearer than this part of the line are one bar; on a phone the line is short. */
const MERGE_DISTANCE = { desktop: 0.016, phone: 0.05 };
const phone = matchMedia("(max-width: 760px)");
/** A mark that is nearer to now than this part of the line would be under its name. */
const MARK_DISTANCE = { desktop: 0.045, phone: 0.18 };
export const MAX_LANES = 10;
/** In pixels; the stylesheet has them, too. */
export const LANE_HEIGHT = 30;
export const MARKS_HEIGHT = 22;

const dayFormat = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric" });

export interface PastDot {
  kind: Fire["kind"];
  id: string;
  firedAt: string;
}

interface Lane {
  key: string;
  first: Fire;
  times: number[];
  past: number[];
}

interface TimeLineProps {
  fires: readonly Fire[];
  /** Beyond it only the next fire of each is known. */
  until?: string | undefined;
  past: readonly PastDot[];
  span: Span;
  /** Without the names: the line of one plan. */
  isSingle?: boolean;
}

export function TimeLine({ fires, until, past, span, isSingle = false }: TimeLineProps) {
  const [isWhole, setWhole] = useState(false);
  const { length, step, name } = SPANS[span];
  const start = now.value - length * PAST;
  const place = (time: number) => (time - start) / (length * (1 + PAST));
  const lanes = buildLanes(fires, past);
  if (until !== undefined) for (const lane of lanes) continueInterval(lane, Date.now() + length);
  const markDistance = phone.matches ? MARK_DISTANCE.phone : MARK_DISTANCE.desktop;
  const shown = isWhole || isSingle ? lanes : lanes.slice(0, MAX_LANES);
  return (
    <div class={`time-line ${isSingle ? "is-single" : ""}`} role="group" aria-label={`Fires in the next ${name}`}>
      <ol>
        {shown.map((lane) => (
          <li key={lane.key} class={`lane ${justFired.value.has(lane.first.id) ? "is-firing" : ""}`}>
            {!isSingle && <LaneName lane={lane} />}
            <span class="lane-track" aria-hidden="true">
              {mergeDots(lane.past.map(place)).map((dot) => (
                <Dot key={`p${dot.from}`} dot={dot} class="is-past" title={describeDots(dot, lane.past, "fired")} />
              ))}
              {mergeDots(lane.times.map((time) => Math.max(place(time), place(now.value)))).map((dot) => (
                <Dot key={dot.from} dot={dot} class={lane.first.heartbeat ? "is-heartbeat" : lane.first.kind === "trigger" ? "is-trigger" : ""} title={describeDots(dot, lane.times, "fires")} />
              ))}
            </span>
            {!isSingle && <LaneNext at={lane.times[0]} />}
          </li>
        ))}
      </ol>
      <div class="time-marks" aria-hidden="true">
        <span class="time-marks-track">
          {listMarks(start, length * (1 + PAST), step).filter((time) => Math.abs(place(time) - place(now.value)) > markDistance).map((time) => (
            <span key={time} class="time-mark" style={{ left: `${place(time) * 100}%` }}>
              {step === DAY ? dayFormat.format(time) : formatClock(new Date(time).toISOString())}
            </span>
          ))}
          <span class="time-now" style={{ left: `${place(now.value) * 100}%` }}>
            <span>now</span>
          </span>
        </span>
      </div>
      {lanes.length > shown.length && (
        <button class="button small quiet" onClick={() => setWhole(true)}>
          {lanes.length - shown.length} more
        </button>
      )}
    </div>
  );
}

function LaneName({ lane: { first, times } }: { lane: Lane }) {
  return (
    <a class="lane-name accent-hover quiet-icon line" href={pathOf(first)} aria-label={`${toLine(first.name, 80)}, fires ${plural(times.length, "time")}`}>
      <Icon name={first.kind === "plan" ? "clock" : "bolt"} size={14} />
      <Line text={first.name} limit={80} />
    </a>
  );
}

function LaneNext({ at }: { at: number | undefined }) {
  if (at === undefined) return <span class="soft xs number" />;
  const time = new Date(at).toISOString();
  return (
    <time class="soft xs number" dateTime={time} title={formatExact(time)}>
      {at <= now.value ? "now" : formatRelative(time, now.value)}
    </time>
  );
}

interface MergedDot {
  from: number;
  to: number;
  /** The places of its first and its last fire. */
  first: number;
  last: number;
}

function Dot({ dot, title, class: name }: { dot: MergedDot; title: string; class: string }) {
  return <i class={`fire-dot ${name} ${dot.first === dot.last ? "" : "is-bar"}`} title={title} style={{ left: `${dot.from * 100}%`, width: `calc(9px + ${(dot.to - dot.from) * 100}%)` }} />;
}

function buildLanes(fires: readonly Fire[], past: readonly PastDot[]): Lane[] {
  const lanes = new Map<string, Lane>();
  for (const fire of fires) {
    const key = `${fire.kind}:${fire.id}`;
    const lane = lanes.get(key) ?? { key, first: fire, times: [], past: [] };
    lane.times.push(Date.parse(fire.at));
    lanes.set(key, lane);
  }
  for (const { kind, id, firedAt } of past) lanes.get(`${kind}:${id}`)?.past.push(Date.parse(firedAt));
  for (const lane of lanes.values()) lane.past.sort((a, b) => a - b);
  return [...lanes.values()];
}

/** Go on with what fires in a regular interval, beyond what is known. */
function continueInterval({ times }: Lane, end: number): void {
  const interval = (times[1] ?? 0) - (times[0] ?? 0);
  if (times.length < 3 || times.some((time, index) => index > 0 && time - (times[index - 1] ?? 0) !== interval)) return;
  for (let time = (times.at(-1) ?? end) + interval; time < end; time += interval) times.push(time);
}

/** Return the dots that are seen; those that would touch are one. */
function mergeDots(places: readonly number[]): MergedDot[] {
  const dots: MergedDot[] = [];
  const mergeDistance = phone.matches ? MERGE_DISTANCE.phone : MERGE_DISTANCE.desktop;
  places.forEach((place, index) => {
    if (place < 0 || place > 1) return;
    const last = dots.at(-1);
    if (last !== undefined && place - last.to < mergeDistance) {
      last.to = place;
      last.last = index;
    } else dots.push({ from: place, to: place, first: index, last: index });
  });
  return dots;
}

function describeDots({ first, last }: MergedDot, times: readonly number[], verb: string): string {
  const text = formatExact(new Date(times[first] ?? 0).toISOString());
  return first === last ? `${verb} ${text}` : `${verb} ${plural(last - first + 1, "time")} from ${text} to ${formatClock(new Date(times[last] ?? 0).toISOString())}`;
}

/** Return the whole hours or days of a part of time, by the clock of this browser. */
function listMarks(start: number, length: number, step: number): number[] {
  const midnight = new Date(start);
  midnight.setHours(0, 0, 0, 0);
  const marks: number[] = [];
  for (let time = midnight.getTime(); time < start + length; time += step) if (time > start) marks.push(time);
  return marks;
}
