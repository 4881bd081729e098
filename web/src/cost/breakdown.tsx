/** Usage in a table: one row a group, and each number shows the runs that it counts. */

import type { Usage } from "@gatepost/client";

import { buildPath } from "../router.js";
import { Line } from "../ui/parts.js";
import { formatSize, plural } from "../ui/text.js";
import { formatDuration } from "../ui/time.js";
import { describeGroup } from "./chart.js";
import { describeWake } from "./describe.js";
import { linkRuns, nameGroup, sumTokens, type Dimension, type RunFilter } from "./usage.js";

interface BreakdownProps {
  groups: readonly Usage[];
  total: Usage;
  by: Dimension;
  tones: ReadonlyMap<string, string>;
  /** Of all of them. */
  filter: RunFilter;
  /** Called with the group that the pointer or the focus is on. */
  onHighlight: (name: string | undefined) => void;
}

export function Breakdown({ groups, total, by, tones, filter, onHighlight }: BreakdownProps) {
  const all = Math.max(1, sumTokens(total));
  return (
    <div class="table-scroll" tabIndex={0} role="group" aria-label={`Tokens by ${by}`}>
      <table class="table cost-table">
        <thead>
          <tr>
            <th scope="col">{by === "cause" ? "Woken by" : by === "model" ? "Model" : "Agent"}</th>
            <th scope="col" class="number">
              Tokens
            </th>
            <th scope="col" class="number">
              Share
            </th>
            <th scope="col" class="number hide-phone">
              Prompt
            </th>
            <th scope="col" class="number hide-phone">
              Completion
            </th>
            <th scope="col" class="number">
              Runs
            </th>
            <th scope="col" class="number hide-phone">
              Failed
            </th>
            <th scope="col" class="number hide-phone">
              Stopped
            </th>
            <th scope="col" class="number hide-phone">
              Time
            </th>
          </tr>
        </thead>
        <tbody onMouseLeave={() => onHighlight(undefined)}>
          {groups.map((group) => {
            const name = nameGroup(group, by);
            const own = { ...filter, [by]: name };
            const share = (sumTokens(group) / all) * 100;
            return (
              <tr key={name} onMouseEnter={() => onHighlight(name)}>
                <th scope="row">
                  <span class="cost-name line gap-2">
                    <i class={`swatch ${tones.get(name) ?? "is-rest"}`} />
                    {by === "agent" ? (
                      <a class="line-text" href={buildPath("agents", name)}>
                        <Line text={describeGroup(name, by)} limit={60} />
                      </a>
                    ) : (
                      <Line text={describeGroup(name, by)} limit={80} />
                    )}
                  </span>
                </th>
                <td class="number">
                  <a href={linkRuns(own)} onFocus={() => onHighlight(name)} onBlur={() => onHighlight(undefined)}>
                    {formatSize(sumTokens(group))}
                  </a>
                </td>
                <td class="number muted">{share < 1 ? share.toFixed(1) : Math.round(share)} %</td>
                <td class="number muted hide-phone">
                  <a href={linkRuns(own)} tabIndex={-1}>
                    {formatSize(group.promptTokens)}
                  </a>
                </td>
                <td class="number muted hide-phone">
                  <a href={linkRuns(own)} tabIndex={-1}>
                    {formatSize(group.completionTokens)}
                  </a>
                </td>
                <td class="number">
                  <a href={linkRuns(own)}>{group.runs.toLocaleString("en")}</a>
                </td>
                <td class="number hide-phone">{group.failedRuns === 0 ? <span class="muted">0</span> : <a class="is-bad" href={linkRuns({ ...own, status: "failed" })}>{group.failedRuns}</a>}</td>
                <td class="number hide-phone">{group.budgetStops === 0 ? <span class="muted">0</span> : <a class="is-bad" href={linkRuns({ ...own, stopped: "true" })}>{group.budgetStops}</a>}</td>
                <td class="number muted hide-phone">
                  <a href={linkRuns(own)} tabIndex={-1}>
                    {formatDuration(group.durationMs)}
                  </a>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** Wakes by cause, the most frequent first. */
export function Causes({ groups, filter }: { groups: readonly Usage[]; filter: RunFilter }) {
  const list = groups.toSorted((a, b) => b.runs - a.runs);
  const most = Math.max(1, ...list.map((group) => group.runs));
  if (list.length === 0) return <p class="card pad sm muted">No agent had a run.</p>;
  return (
    <ul class="card row-list">
      {list.map((group) => (
        <li key={group.cause}>
          <a class="row cause-row" href={linkRuns({ ...filter, cause: group.cause })} title={plural(group.runs, "run")}>
            <span class="cause-bar" style={{ width: `${(group.runs / most) * 100}%` }} />
            <span class="cause-name line-text">{describeWake(group.cause ?? "")}</span>
            <span class="number muted hide-phone">{formatSize(sumTokens(group))} tok</span>
            <span class="number strong">{group.runs.toLocaleString("en")}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}
