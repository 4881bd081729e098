/** Whether what is pushed now reaches a guest, and how that is known. A resident is always reached: Gatepost wakes it. */

import type { Reachability } from "@gatepost/client";

import { agents } from "../data/live.js";
import { AttentionBadge } from "./attention.js";
import { formatDuration, RelativeTime } from "../ui/time.js";

const METHODS: Record<string, string> = { waiter: "by a hook that waits", thread: "by its thread", plugin: "by its plugin" };

/** In a few words, for the session of a guest or for its best one. */
export function Reached({ reachability, isShort = false }: { reachability: Reachability; isShort?: boolean }) {
  const { state, by, since, provedAt, latency } = reachability;
  const how = by === null || isShort ? "" : ` ${METHODS[by] ?? by}`;
  if (state === "lost") {
    return (
      <span class="badge danger">
        {isShort ? "not reachable" : "its program, or what wakes it, is gone"}
        {!isShort && <Since time={since} />}
      </span>
    );
  }
  if (state === "unproved") return <span class="badge">reads at its next turn{!isShort && <Since time={since} />}</span>;
  return (
    <span class="badge accent">
      wakes{how}
      {state === "proved" && provedAt !== null ? (
        <>
          : proved <RelativeTime hasAgo time={provedAt} />
          {latency !== null && ` in ${formatDuration(latency * 1000)}`}
        </>
      ) : (
        !isShort && <Since time={since} />
      )}
    </span>
  );
}

function Since({ time }: { time: string }) {
  return (
    <>
      , since <RelativeTime hasAgo time={time} />
    </>
  );
}

/** What is known of an agent by its name, where one writes to it. */
export function AgentReachability({ name }: { name: string }) {
  const agent = agents().value.agents.find((other) => other.name === name);
  if (agent === undefined) return null;
  return (
    <p class="xs muted line wrap gap-2" role="status">
      {agent.resident ? (agent.paused ? "It is paused, and reads this when it is resumed." : "It wakes when this comes.") : agent.reachability === null ? "It has no session now, and reads this when it looks." : <Reached reachability={agent.reachability} />}
      {agent.attention && <AttentionBadge attention={agent.attention} />}
    </p>
  );
}
