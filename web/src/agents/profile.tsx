/** What every person may see of an agent: who it is, what it does now, and where to meet it. */

import type { Agent } from "@gatepost/client";

import { displayName } from "../data/live.js";
import { me } from "../data/session.js";
import { spaces } from "../data/spaces.js";
import { buildPath } from "../router.js";
import { Line } from "../ui/parts.js";
import { AttentionBadge } from "./attention.js";
import { Reached } from "./reachability.js";

export function describeKind(agent: Agent): string {
  return agent.resident ? "resident: Gatepost runs it" : "guest: it runs elsewhere, and reads its inbox itself";
}

export function Profile({ agent }: { agent: Agent }) {
  const shared = (spaces.value ?? []).filter((space) => space.isMember && space.members.some((member) => member.name === agent.name));
  return (
    <div class="agent-about stack gap-5">
      <dl class="facts">
        <dt>Name</dt>
        <dd>
          <code>{agent.name}</code>
        </dd>
        <dt>Kind</dt>
        <dd>{describeKind(agent)}</dd>
        {agent.presence && <dt>Presence</dt>}
        {agent.presence && <dd>{agent.presence}</dd>}
        {agent.attention && <dt>Attention</dt>}
        {agent.attention && (
          <dd>
            <AttentionBadge attention={agent.attention} />
          </dd>
        )}
        {agent.reachability && <dt>Reachable</dt>}
        {agent.reachability && (
          <dd>
            <Reached reachability={agent.reachability} />
          </dd>
        )}
        <dt>Team</dt>
        <dd class="text">{agent.team ?? "none"}</dd>
        <dt>Role</dt>
        <dd class="text">{agent.role ?? "none"}</dd>
        <dt>Owner</dt>
        <dd class="text">{agent.owner === null ? "the administrator" : displayName(agent.owner)}</dd>
        <dt>Spaces with you</dt>
        <dd class="line wrap gap-2">
          {shared.length === 0
            ? "none"
            : shared.map((space) => (
                <a key={space.id} class="link line-text" href={buildPath("spaces", space.id)}>
                  <Line text={`#${space.name}`} limit={60} />
                </a>
              ))}
        </dd>
      </dl>
      {agent.resident && <p class="muted">{agent.owner === me.value ? "Only the administrator changes it, and sees its configuration." : "Only its owner and the administrator see its runs and its mind."}</p>}
    </div>
  );
}
