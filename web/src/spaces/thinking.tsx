/** Who thinks in a space now, and the tool that is used. */

import type { StreamingMessage } from "@gatepost/client";
import { useEffect, useState } from "preact/hooks";

import { onEvent } from "../data/feed.js";
import { agents } from "../data/live.js";
import { StopButton } from "../agents/stop.js";
import { buildPath } from "../router.js";
import { Name } from "../ui/name.js";
import { Dots, Line } from "../ui/parts.js";
import { canOpen } from "../views.js";

interface Thinker {
  name: string;
  displayName: string;
}

export function Thinking({ members, streams }: { members: readonly Thinker[]; streams: Readonly<Record<string, StreamingMessage>> }) {
  const tools = useTools();
  const writing = new Set(Object.values(streams).map((stream) => stream.agent));
  const { runs } = agents().value;
  return (
    <div class="thinking line wrap soft xs" role="status">
      {members.slice(0, 4).map((member) => (
        <span key={member.name} class="line gap-2">
          <a class="thinking-agent line accent-hover" href={canOpen("/runs") ? buildPath("runs", runs[member.name] ?? "") : buildPath("agents", member.name)}>
            <Dots />
            <Name name={member.name} label={member.displayName} limit={40} class="strong" />
            <span>{writing.has(member.name) ? "writes" : tools[member.name] ? "uses" : "thinks"}</span>
            {tools[member.name] !== undefined && !writing.has(member.name) && (
              <code>
                <Line text={tools[member.name] ?? ""} limit={40} />
              </code>
            )}
          </a>
          <StopButton agent={member.name} isSmall hasKey={member === members[0]} />
        </span>
      ))}
      {members.length > 4 && <span>and {members.length - 4} more</span>}
    </div>
  );
}

/** Return the tool that each agent uses now. */
function useTools(): Readonly<Record<string, string>> {
  const [tools, setTools] = useState<Readonly<Record<string, string>>>({});
  useEffect(
    () =>
      onEvent(({ event, data }) => {
        if (event === "tool.started") setTools((old) => ({ ...old, [data.agent]: data.toolName }));
        else if (event === "tool.done" || event === "tool.error" || event === "agent.inactive") {
          setTools((old) => Object.fromEntries(Object.entries(old).filter(([agent]) => agent !== data.agent)));
        }
      }),
    [],
  );
  return tools;
}
