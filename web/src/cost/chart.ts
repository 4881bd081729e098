/** Usage as bars: one a day or an hour, with the largest groups told apart and the others together. */

import type { Usage } from "@gatepost/client";

import { describeWake } from "./describe.js";
import { displayName } from "../data/live.js";
import type { Bar, Series } from "../ui/bar-chart.js";
import { linkRuns, nameGroup, sumTokens, type Dimension, type Period } from "./usage.js";

/** Groups with a colour of their own. */
const MAX_SERIES = 6;

const weekdayFormat = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", timeZone: "UTC" });
const dateFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const titleFormat = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "short", timeZone: "UTC" });
const hourFormat = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

export interface Chart {
  bars: readonly Bar[];
  series: readonly Series[];
  /** The series of a group. */
  places: ReadonlyMap<string, number>;
  /** The colour of a group. */
  tones: ReadonlyMap<string, string>;
}

/** Return the bars of a period; `groups` are the same usage without times, the largest first. */
export function buildChart(period: Period, steps: readonly Usage[], groups: readonly Usage[], by: Dimension, agent?: string): Chart {
  const names = groups.map((group) => nameGroup(group, by));
  const isCut = names.length > MAX_SERIES;
  const shown = names.slice(0, isCut ? MAX_SERIES - 1 : MAX_SERIES);
  const series: Series[] = shown.map((name, index) => ({ name: describeGroup(name, by), tone: `rank-${index}` }));
  if (isCut) series.push({ name: "others", tone: "is-rest" });
  const places = new Map(names.map((name, index) => [name, Math.min(index, isCut ? MAX_SERIES - 1 : index)]));
  const tones = new Map(names.map((name) => [name, series[places.get(name) ?? 0]?.tone ?? ""]));
  const values = new Map(period.starts.map((start) => [start, series.map(() => 0)]));
  for (const step of steps) {
    const row = values.get(Date.parse(step.startsAt ?? ""));
    const place = places.get(nameGroup(step, by));
    if (row !== undefined && place !== undefined) row[place] = (row[place] ?? 0) + sumTokens(step);
  }
  const bars = period.starts.map((start) => ({
    title: describeStart(start, period, true),
    values: values.get(start) ?? [],
    href: linkRuns({ agent, since: new Date(start).toISOString(), until: new Date(start + period.step).toISOString() }),
    label: describeStart(start, period, false),
  }));
  return { bars, series, places, tones };
}

/** Return what a person calls a group. */
export function describeGroup(name: string, by: Dimension): string {
  if (by === "agent") return displayName(name);
  if (by === "cause") return describeWake(name);
  return name === "" ? "no model" : name;
}

function describeStart(start: number, period: Period, isWhole: boolean): string {
  if (period.days === 1) return isWhole ? `${hourFormat.format(start)} to ${hourFormat.format(start + period.step)}` : hourFormat.format(start);
  return (isWhole ? titleFormat : period.days <= 7 ? weekdayFormat : dateFormat).format(start);
}
