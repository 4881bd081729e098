/**
 * Bars over time, drawn by hand: stacked, or one in front of the other. What the pointer is on is told above the bars, so
 * nothing covers them. The drawing is for the eye alone; the same numbers are a table, for readers of the screen always
 * and for everybody on demand.
 */

import "./bar-chart.css";

import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";

import { toLine } from "./text.js";

export interface Bar {
  /** What it is of, in full, such as "Tuesday, 12 Nov". */
  title: string;
  /** Below the axis; as many are shown as there is room for. */
  label: string;
  /** One number for each series. */
  values: readonly number[];
  /** Shows what it counts. */
  href?: string;
}

export interface Series {
  name: string;
  /** A class of `bar-chart.css`: rank-0 to rank-5, is-rest, is-danger. */
  tone: string;
}

interface BarChartProps {
  title: string;
  /** What the bars are of, as the heading of the first column. */
  of: string;
  bars: readonly Bar[];
  series: readonly Series[];
  format: (value: number) => string;
  /** Beside the title while the pointer is on no bar. */
  summary: string;
  /** Series stand in front of each other, each from zero, instead of on top of each other. */
  isOverlay?: boolean;
  /** The series that stands out. */
  highlighted?: number | undefined;
  height?: number;
  /** The least height of the scale, so that little does not look like much. */
  scale?: number;
}

const AXIS = 18;
const SCALE = 46;
const MAX_WIDTH = 44;
const LABEL_WIDTH = 58;

export function BarChart({ title, of, bars, series, format, summary, isOverlay = false, highlighted, height = 150, scale = 4 }: BarChartProps) {
  const [element, width] = useWidth();
  const [active, setActive] = useState(-1);
  const [isTable, setTable] = useState(false);
  const id = useId();
  const total = (bar: Bar) => (isOverlay ? Math.max(0, ...bar.values) : bar.values.reduce((sum, value) => sum + value, 0));
  const top = roundUp(Math.max(scale, ...bars.map(total)));
  const plot = height - AXIS - 6;
  const slot = (width - SCALE) / Math.max(1, bars.length);
  const barWidth = Math.max(1, Math.min(MAX_WIDTH, slot - Math.min(4, slot * 0.24)));
  const interval = Math.ceil(LABEL_WIDTH / slot);
  const toHeight = (value: number) => (value / top) * plot;
  const current = bars[active];
  return (
    <figure class="bar-chart">
      <figcaption class="chart-head line gap-3">
        <h2 id={id}>{title}</h2>
        <span class="chart-readout" aria-hidden="true">
          {current === undefined ? summary : <Readout bar={current} series={series} format={format} total={isOverlay ? undefined : total(current)} />}
        </span>
        <button class="button small quiet" aria-expanded={isTable} aria-label={`${title} as a table`} onClick={() => setTable(!isTable)}>
          {isTable ? "Chart" : "Table"}
        </button>
      </figcaption>
      <div ref={element} class={`chart-plot ${isTable ? "is-hidden" : ""}`} style={{ height: `${height}px` }} aria-hidden="true" onMouseLeave={() => setActive(-1)}>
        <svg width={width} height={height}>
          {[0, 0.5, 1].map((part) => {
            const y = Math.round(6 + plot * (1 - part)) + 0.5;
            return (
              <g key={part}>
                <line class="chart-line" x1={SCALE} x2={width} y1={y} y2={y} />
                <text class="chart-text" x={SCALE - 8} y={y + 4} text-anchor="end">
                  {format(top * part)}
                </text>
              </g>
            );
          })}
          {bars.map((bar, index) => {
            const x = SCALE + index * slot;
            return (
              <g key={index}>
                <Linked href={bar.href}>
                  <rect class={`bar-space ${index === active ? "is-active" : ""}`} x={x} y={6} width={slot} height={plot} onMouseEnter={() => setActive(index)} />
                  {stack(bar, isOverlay).map(([place, from, value]) => (
                    <rect
                      key={place}
                      class={`bar ${series[place]?.tone ?? ""} ${highlighted === undefined || highlighted === place ? "" : "is-dim"}`}
                      x={x + (slot - barWidth) / 2}
                      width={barWidth}
                      y={6 + plot - toHeight(from + value)}
                      height={Math.max(1, toHeight(value) - (from > 0 ? 1 : 0))}
                    />
                  ))}
                </Linked>
                {(bars.length - 1 - index) % interval === 0 && (
                  <text class="chart-text" x={Math.max(SCALE + 14, Math.min(x + slot / 2, width - 18))} y={height - 3} text-anchor="middle">
                    {bar.label}
                  </text>
                )}
              </g>
            );
          })}
        </svg>
      </div>
      <div class={isTable ? "chart-table" : "visually-hidden"} tabIndex={isTable ? 0 : -1} role="group" aria-labelledby={id}>
        <ChartTable of={of} bars={bars} series={series} format={format} hasLinks={isTable} />
      </div>
    </figure>
  );
}

function Readout({ bar, series, format, total }: { bar: Bar; series: readonly Series[]; format: (value: number) => string; total: number | undefined }) {
  const parts = bar.values.map((value, place) => [value, series[place]?.name ?? ""] as const).filter(([value]) => value > 0);
  return (
    <>
      <b>{bar.title}</b>
      {total !== undefined && <span> {format(total)}</span>}
      {(parts.length > 1 || total === undefined) && <span class="muted"> {parts.map(([value, name]) => `${toLine(name, 24)} ${format(value)}`).join(", ")}</span>}
    </>
  );
}

function Linked({ href, children }: { href: string | undefined; children: preact.ComponentChildren }) {
  return href === undefined ? (
    <>{children}</>
  ) : (
    <a href={href} tabindex={-1}>
      {children}
    </a>
  );
}

function ChartTable({ of, bars, series, format, hasLinks }: { of: string; bars: readonly Bar[]; series: readonly Series[]; format: (value: number) => string; hasLinks: boolean }) {
  return (
    <table class="table">
      <thead>
        <tr>
          <th scope="col">{of}</th>
          {series.map(({ name }, place) => (
            <th key={place} scope="col" class="number">
              {toLine(name, 40)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {bars.map((bar, index) => (
          <tr key={index}>
            <th scope="row">{hasLinks && bar.href !== undefined ? <a class="link" href={bar.href}>{bar.title}</a> : bar.title}</th>
            {series.map((_, place) => (
              <td key={place} class="number">
                {format(bar.values[place] ?? 0)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Return the series of a bar that are seen: which, from where, and how much. The tallest comes first in an overlay. */
function stack(bar: Bar, isOverlay: boolean): [number, number, number][] {
  const parts = bar.values.map((value, place) => [place, 0, value] as [number, number, number]).filter(([, , value]) => value > 0);
  if (isOverlay) return parts.sort((a, b) => b[2] - a[2]);
  let from = 0;
  for (const part of parts) {
    part[1] = from;
    from += part[2];
  }
  return parts;
}

/** Return a number of one digit that is not less, or one of 1.5, 2.5 and so on, so that half of it is short as well. */
function roundUp(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 3, 4, 5, 6, 8, 10].find((factor) => factor * unit >= value) ?? 10) * unit;
}

/** Return the width of an element, as it changes. */
function useWidth() {
  const element = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  useLayoutEffect(() => {
    const node = element.current;
    if (node === null) return;
    const measure = () => node.clientWidth > 0 && setWidth(node.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(node);
    return () => observer.disconnect();
  }, []);
  return [element, width] as const;
}
