/** What an agent did before it said something: the tools it called, folded into the message. */

import type { Step } from "@gatepost/client";

import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { buildPath } from "../router.js";
import { Icon } from "../ui/icons.js";
import { PlainText } from "../ui/markdown.js";
import { Line } from "../ui/parts.js";
import { formatJson, formatSize } from "../ui/text.js";

export function RunActivity({ id }: { id: string }) {
  const { value, error } = useLoad((signal) => client.listSteps({ id, limit: 200 }, { signal }), [id]);
  if (error !== undefined) return <p class="muted text">It cannot be shown: {error.message}</p>;
  if (value === undefined) return <p class="muted">Loading …</p>;
  const calls = listCalls(value.items);
  const tokens = value.items.reduce((sum, step) => sum + (step.reply ? step.reply.usage.promptTokens + step.reply.usage.completionTokens : 0), 0);
  return (
    <div class="run-activity stack sm">
      {calls.map((call) => (
        <details key={call.id} class="tool-call">
          <summary>
            <Icon name={call.ok === false ? "alert" : "tool"} size={13} />
            <code>
              <Line text={call.tool} limit={60} />
            </code>
            <Line text={call.arguments} limit={120} class="muted" />
          </summary>
          <PlainText text={formatJson(call.arguments)} limit={2000} />
          {call.result !== undefined && <PlainText text={formatJson(call.result)} limit={2000} />}
        </details>
      ))}
      <a class="link" href={buildPath("runs", id)}>
        See the whole run, {formatSize(tokens)} tokens
      </a>
    </div>
  );
}

function listCalls(steps: readonly Step[]) {
  const results = new Map(steps.flatMap(({ result }) => (result ? [[result.call, result] as const] : [])));
  return steps.flatMap(({ reply }) =>
    (reply?.calls ?? []).map((call) => ({ ...call, result: results.get(call.id)?.content, ok: results.get(call.id)?.ok })),
  );
}
