/** What an agent knows: its mind as it would begin the next cycle, its memories, goals and plans. */

import "../plans/plans.css";

import type { Turn } from "@gatepost/client";

import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { isAboutPlans, useFollow } from "../plans/follow.js";
import { PlanRow } from "../plans/plan-row.js";
import { buildPath, navigate } from "../router.js";
import { Markdown } from "../ui/markdown.js";
import { Empty, Failure, Line, Skeleton } from "../ui/parts.js";
import { useRowKeys } from "../ui/row-keys.js";
import { formatSize, plural, toLine } from "../ui/text.js";
import { RelativeTime } from "../ui/time.js";
import { TurnView } from "./turn.js";

export function MindView({ name }: { name: string }) {
  const { value, error, reload } = useLoad((signal) => client.showMind({ name }, { signal }), [name]);
  if (value === undefined) return error === undefined ? <Skeleton /> : <Failure error={error} onRetry={reload} />;
  if (value.turns.length === 0 && value.summaries.length === 0) {
    return (
      <Empty icon="brain" title="Its mind is empty">
        <p>After its first cycle, what it read, said and did is here.</p>
      </Empty>
    );
  }
  return (
    <div class="stack gap-4">
      <p class="muted">
        {formatSize(value.tokens)} tokens: {plural(value.summaries.length, "summary", "summaries")} of past cycles and {plural(value.turns.length, "turn")} in full
        {value.dropped > 0 && `; ${plural(value.dropped, "older summary", "older summaries")} dropped`}
      </p>
      {value.summaries.length > 0 && (
        <section class="card stack gap-2 pad sm">
          {value.summaries.map((summary, index) => (
            <Markdown key={index} text={summary} />
          ))}
        </section>
      )}
      <ol class="turns stack gap-4">
        {value.turns.map((turn: Turn, index) => (
          <li key={index}>
            <TurnView turn={turn} />
          </li>
        ))}
      </ol>
    </div>
  );
}

export function Memories({ name }: { name: string }) {
  const { value, error, reload } = useLoad((signal) => client.listMemories({ name, limit: 1000 }, { signal }), [name]);
  if (value === undefined) return error === undefined ? <Skeleton /> : <Failure error={error} onRetry={reload} />;
  if (value.items.length === 0) {
    return (
      <Empty icon="brain" title="It remembers nothing yet">
        <p>Tell it in a space: “Remember that the report is due on Fridays.”</p>
      </Empty>
    );
  }
  return (
    <ul class="card row-list">
      {value.items.map((memory) => (
        <li key={memory.key} class="row line record">
          <Line text={memory.key} class="record-key strong" />
          <div class="grow">
            <Markdown text={memory.value} />
          </div>
          <span class="muted">
            <RelativeTime hasAgo time={memory.updatedAt} />
          </span>
        </li>
      ))}
    </ul>
  );
}

export function Goals({ name }: { name: string }) {
  const { value, error, reload } = useLoad((signal) => client.listGoals({ name }, { signal }), [name]);
  if (value === undefined) return error === undefined ? <Skeleton /> : <Failure error={error} onRetry={reload} />;
  if (value.items.length === 0) {
    return (
      <Empty icon="check" title="It has no goals">
        <p>An agent sets goals for itself when it is given something that takes more than one cycle.</p>
      </Empty>
    );
  }
  return (
    <ul class="card row-list">
      {value.items.map((goal) => (
        <li key={goal.id} class="row line record">
          <span class={`badge ${goal.status === "active" ? "accent" : ""}`}>{goal.status}</span>
          <span class="grow text">{toLine(goal.description, 600)}</span>
          <span class="muted number">{goal.priority}</span>
          <span class="muted">
            <RelativeTime hasAgo time={goal.updatedAt} />
          </span>
        </li>
      ))}
    </ul>
  );
}

export function Plans({ name }: { name: string }) {
  const { value, error, reload, refresh } = useLoad((signal) => client.listPlans({ owner: name, limit: 500 }, { signal }), [name]);
  useFollow(refresh, isAboutPlans);
  const { index } = useRowKeys("Plans", value?.items ?? [], (plan) => navigate(buildPath("plans", plan.id)), (plan) => plan.id);
  if (value === undefined) return error === undefined ? <Skeleton /> : <Failure error={error} onRetry={reload} />;
  if (value.items.length === 0) {
    return (
      <Empty icon="clock" title="It has no plans">
        <p>Ask it in a space (“Remind us every day at 9”), or make a plan for it.</p>
        <a class="button" href="/plans">
          Go to plans
        </a>
      </Empty>
    );
  }
  return (
    <ul class="card row-list">
      {value.items.map((plan, position) => (
        <li key={plan.id}>
          <PlanRow plan={plan} isSelected={position === index} />
        </li>
      ))}
    </ul>
  );
}
