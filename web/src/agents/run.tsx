/** A run as a time line that explains itself. */

import type { Run, RunWithCalls, Step } from "@gatepost/client";
import { useEffect, useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { displayName } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client, isAdministrator } from "../data/session.js";
import { closeWhileHidden } from "../data/shared-stream.js";
import { buildPath, segments } from "../router.js";
import { useSubject } from "../title.js";
import { Icon } from "../ui/icons.js";
import { Name } from "../ui/name.js";
import { Avatar, Dots, Line, Unloaded } from "../ui/parts.js";
import { formatSize, plural, toLine } from "../ui/text.js";
import { Elapsed, formatDuration, formatExact, RelativeTime } from "../ui/time.js";
import { canOpen } from "../views.js";
import { describeCause, describeStatus, runTone } from "./describe.js";
import { ReplayPanel } from "./replay.js";
import { STOP_KEY, stopRun } from "./stop.js";
import { TurnView } from "./turn.js";

export function RunPage({ id }: { id: string }) {
  const { value, error, reload } = useLoad((signal) => client.showRun({ id }, { signal }), [id]);
  const { run, steps, text } = useRun(id, value);
  useSubject(run && `${displayName(run.agent)}, ${describeCause(run.cause)}`);
  const [isReplaying, setReplaying] = useState(segments.value[2] === "replay");
  const stop = () => run !== undefined && void stopRun(id, run.agent).then(reload);
  const canChange = isAdministrator.value; // an owner only reads
  useCommands([
    ...(canChange ? [{ id: "replay-run", title: "Replay this run with another model", group: "Run", keys: "z", run: () => setReplaying(true) }] : []),
    ...(canChange && run?.status === "running" ? [{ id: "stop-run", title: "Stop this run", group: "Run", keys: STOP_KEY, run: stop }] : []),
  ]);
  if (run === undefined) return <Unloaded title="Run" back={canOpen("/runs") ? "/runs" : "/agents"} backLabel="All runs" error={error} onRetry={reload} />;
  return (
    <>
      <header class="view-head">
        <a class="icon-button" href={buildPath("agents", run.agent)} aria-label="Runs of this agent">
          <Icon name="back" />
        </a>
        <Avatar name={displayName(run.agent)} isActive={run.status === "running"} />
        <h1 class="run-heading">
          <Name name={run.agent} /> <span class="muted line-text">{describeCause(run.cause)}</span>
        </h1>
        <span class={`badge ${runTone(run)}`}>{describeStatus(run)}</span>
        <span class="grow" />
        {!canChange ? null : run.status === "running" ? (
          <button class="button danger" title={`Stop this run (${STOP_KEY})`} onClick={stop}>
            <Icon name="stop" size={12} /> Stop
          </button>
        ) : (
          <button class="button" aria-label="Replay" title="Replay with this or another model (z)" onClick={() => setReplaying(!isReplaying)}>
            <Icon name="replay" size={14} /> <span class="hide-phone">Replay</span>
          </button>
        )}
      </header>
      <div class="view-body run stack gap-4">
        <RunFacts run={run} />
        {run.error !== null && <p class="notice danger text">{toLine(run.error, 1000)}</p>}
        {run.summary !== "" && (
          <p class="run-summary soft text" dir="auto">
            {toLine(run.summary, 1000)}
          </p>
        )}
        {canChange && isReplaying && <ReplayPanel run={run} />}
        {value !== undefined && value.calls.length > 0 && <OpenCalls run={value} />}
        <Waterfall run={run} steps={steps} />
        <ol class="turns stack gap-4">
          {steps.map((step, index) => (
            <li key={step.number} id={`step-${step.number}`}>
              <TurnView turn={step} agent={run.agent} note={describeTime(step, steps[index - 1], run)} />
            </li>
          ))}
          {run.status === "running" && (
            <li class="turn stack gap-2 is-live">
              <Dots /> <span class="text plain">{text === "" ? "thinks" : toLine(text, 2000)}</span>
            </li>
          )}
        </ol>
      </div>
    </>
  );
}

/** Follow a run from its first step on, also while it is being thought. */
function useRun(id: string, loaded: RunWithCalls | undefined): { run: Run | undefined; steps: readonly Step[]; text: string } {
  const [steps, setSteps] = useState<readonly Step[]>([]);
  const [ended, setEnded] = useState<Run | undefined>(undefined);
  const [text, setText] = useState("");
  useEffect(() => {
    const controller = new AbortController();
    const watch = closeWhileHidden((options) => client.watchRun({ id }, options));
    const follow = async () => {
      for await (const { event, data } of watch({ signal: controller.signal })) {
        if (event === "run.step") {
          setSteps((old) => [...old.filter((step) => step.number !== data.number), data].sort((a, b) => a.number - b.number));
          setText("");
        } else if (event === "space.message.streaming" && data.phase === "delta") setText((old) => old + data.delta);
        else if (event === "run.completed" || event === "run.failed" || event === "run.cancelled" || event === "run.skipped") {
          setEnded(data);
          return; // nothing comes after it
        }
      }
    };
    follow().catch(() => undefined);
    return () => controller.abort();
  }, [id]);
  return { run: ended ?? loaded, steps, text };
}

function RunFacts({ run }: { run: Run }) {
  const facts: [string, string | undefined][] = [
    ["model", run.model],
    ["read", plural(run.events, "event")],
    ["steps", String(run.steps)],
    ["changes made", String(run.effects)],
    ["tokens", `${formatSize(run.promptTokens)} in + ${formatSize(run.completionTokens)} out`],
    ["run of the agent", `no. ${run.cycleNumber}`],
  ];
  return (
    <dl class="fact-line run-facts">
      <div>
        <dt>started</dt>
        <dd>
          <RelativeTime hasAgo time={run.startedAt} />
        </dd>
      </div>
      <div>
        <dt>took</dt>
        <dd>{run.durationMs === null ? <Elapsed since={run.startedAt} /> : formatDuration(run.durationMs)}</dd>
      </div>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class="line-text">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Where the time went: each step from the end of the one before. */
function Waterfall({ run, steps }: { run: Run; steps: readonly Step[] }) {
  const begin = Date.parse(run.startedAt);
  const end = Math.max(begin + 1, run.endedAt === null ? Date.parse(steps.at(-1)?.at ?? run.startedAt) : Date.parse(run.endedAt));
  if (steps.length < 2) return null;
  return (
    <ol class="waterfall stack" aria-label="Where the time went">
      {steps.map((step, index) => {
        const from = index === 0 ? begin : Date.parse(steps[index - 1]?.at ?? run.startedAt);
        const to = Date.parse(step.at);
        const left = Math.min(99, ((from - begin) / (end - begin)) * 100);
        const width = Math.max(0.6, Math.min(100 - left, ((to - from) / (end - begin)) * 100));
        return (
          <li key={step.number}>
            <a
              class="waterfall-row"
              href={`#step-${step.number}`}
              title={formatExact(step.at)}
              onClick={(event) => {
                event.preventDefault();
                document.getElementById(`step-${step.number}`)?.scrollIntoView({ block: "start" });
              }}
            >
              <span class="line-text">{describeStep(step)}</span>
              <span class="waterfall-track">
                <i class={`waterfall-bar is-${step.kind}`} style={{ left: `${left}%`, width: `${width}%` }} />
              </span>
              <span class="number muted">{formatDuration(Math.max(0, to - from))}</span>
            </a>
          </li>
        );
      })}
    </ol>
  );
}

function OpenCalls({ run }: { run: RunWithCalls }) {
  return (
    <ul class="card row-list">
      {run.calls.map((call) => (
        <li key={call.id} class="row line record">
          <Icon name="tool" size={14} />
          <Line text={call.tool} class="record-key strong" />
          <Line text={call.arguments} class="grow muted" />
          <span class={`badge ${call.status === "pending" ? "warn" : ""}`}>{call.status === "pending" ? "waits for a program outside" : call.status}</span>
        </li>
      ))}
    </ul>
  );
}

function describeStep(step: Step): string {
  if (step.prompt !== null) return "read";
  if (step.reply !== null) return step.reply.calls.length > 0 ? `thought + ${plural(step.reply.calls.length, "call")}` : "thought";
  return toLine(step.result?.tool ?? "", 30);
}

function describeTime(step: Step, before: Step | undefined, run: Run): string {
  const from = Date.parse(before?.at ?? run.startedAt);
  return formatDuration(Math.max(0, Date.parse(step.at) - from));
}
