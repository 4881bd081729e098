/** Tokens of the last runs as bars; each bar is a run. */

import type { Run } from "@gatepost/client";

import { buildPath } from "../router.js";
import { formatSize } from "../ui/text.js";
import { describeCause } from "./describe.js";

const HEIGHT = 44;
const BAR = 8;
const GAP = 3;

export function TokenChart({ runs }: { runs: readonly Run[] }) {
  const list = runs.toReversed();
  const counts = list.map((run) => run.promptTokens + run.completionTokens);
  const most = Math.max(1, ...counts);
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (list.length < 3) return null;
  const width = list.length * (BAR + GAP);
  return (
    <figure class="token-chart">
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} width={width} height={HEIGHT} role="group" aria-label={`Tokens of the last ${list.length} runs, ${total} in all`}>
        {list.map((run, index) => {
          const [prompt, completion] = [run.promptTokens, run.completionTokens].map((count) => (count / most) * (HEIGHT - 2)) as [number, number];
          return (
            <a key={run.id} href={buildPath("runs", run.id)} tabindex={-1}>
              <title>{`${describeCause(run.cause)}: ${formatSize(run.promptTokens)} prompt, ${formatSize(run.completionTokens)} completion`}</title>
              <rect class="bar-space" x={index * (BAR + GAP)} y={0} width={BAR} height={HEIGHT} />
              <rect class="bar-prompt" x={index * (BAR + GAP)} y={HEIGHT - prompt} width={BAR} height={Math.max(1, prompt)} />
              <rect class="bar-completion" x={index * (BAR + GAP)} y={HEIGHT - prompt - completion} width={BAR} height={completion} />
            </a>
          );
        })}
      </svg>
      <figcaption class="muted xs">
        {formatSize(total)} tokens in the last {list.length} runs
      </figcaption>
    </figure>
  );
}
