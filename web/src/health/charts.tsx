/** What the store did over time: events accepted, how long they waited, and runs. */

import type { History } from "@gatepost/client";

import { withFilters } from "../router.js";
import { BarChart, type Bar } from "../ui/bar-chart.js";
import { formatSize, plural } from "../ui/text.js";
import { formatDuration } from "../ui/time.js";

const clockFormat = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const dayFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const DAY = 86_400;

export function Charts({ history }: { history: History }) {
  const { steps, stepSeconds } = history;
  const isLong = steps.length * stepSeconds > 1.5 * DAY;
  const describe = (at: number) => (isLong ? `${dayFormat.format(at)}, ${clockFormat.format(at)}` : clockFormat.format(at));
  const build = (path: string, pick: (step: (typeof steps)[number]) => number[]): Bar[] =>
    steps.map((step) => {
      const at = Date.parse(step.at);
      const end = at + stepSeconds * 1000;
      return {
        title: `${describe(at)} to ${clockFormat.format(end)}`,
        values: pick(step),
        href: withFilters(path, { since: step.at, until: new Date(end).toISOString() }),
        label: (isLong ? dayFormat : clockFormat).format(at),
      };
    });
  const accepted = steps.reduce((sum, step) => sum + step.accepted, 0);
  const runs = steps.reduce((sum, step) => sum + step.runs, 0);
  const failed = steps.reduce((sum, step) => sum + step.failedRuns, 0);
  const longest = Math.max(0, ...steps.map((step) => step.longestWaitMs ?? 0));
  const waiting = steps.reduce((sum, step) => sum + step.waiting, 0);
  return (
    <div class="columns health-charts gap-3">
      <div class="card">
        <BarChart
          title="Events"
          of="Time"
          bars={build("/items", (step) => [step.accepted])}
          series={[{ name: "accepted", tone: "rank-0" }]}
          format={formatSize}
          summary={`${plural(accepted, "event")}, ${formatRate(accepted, steps.length * stepSeconds)}`}
          height={120}
        />
      </div>
      <div class="card">
        <BarChart
          title="Wait for an agent"
          of="Time"
          bars={build("/items", (step) => [step.longestWaitMs ?? 0, step.meanWaitMs ?? 0])}
          series={[
            { name: "longest", tone: "rank-3" },
            { name: "mean", tone: "rank-0" },
          ]}
          format={(value) => (value === 0 ? "0" : formatDuration(value).replace(/ 0 [sm]$/, ""))}
          summary={`${longest === 0 ? "none waited" : `${formatDuration(longest)} at most`}${waiting > 0 ? `, ${plural(waiting, "still waits", "still wait")}` : ""}`}
          isOverlay
          scale={100}
          height={120}
        />
      </div>
      <div class="card">
        <BarChart
          title="Runs"
          of="Time"
          bars={build("/cost/runs", (step) => [step.runs - step.failedRuns, step.failedRuns])}
          series={[
            { name: "ended well", tone: "rank-0" },
            { name: "failed", tone: "is-danger" },
          ]}
          format={formatSize}
          summary={`${plural(runs, "run")}${failed > 0 ? `, ${failed} failed` : ""}`}
          height={120}
        />
      </div>
    </div>
  );
}

function formatRate(count: number, seconds: number): string {
  const [unit, name] = count / seconds >= 1 ? [1, "a second"] : (count / seconds) * 60 >= 1 ? [60, "a minute"] : [3600, "an hour"];
  return `${formatSize(Math.round((count / seconds) * unit * 10) / 10)} ${name}`;
}
