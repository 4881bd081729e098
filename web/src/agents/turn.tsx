/** One turn of a cycle: what the agent was shown, what its model said, what a tool returned. */

import type { Turn } from "@gatepost/client";

import { DataView } from "../ui/fields.js";
import { Icon } from "../ui/icons.js";
import { Markdown, PlainText } from "../ui/markdown.js";
import { Line } from "../ui/parts.js";
import { formatSize, plural } from "../ui/text.js";

export function TurnView({ turn, note }: { turn: Turn; note?: string }) {
  const { prompt, reply, result } = turn;
  if (prompt !== null) {
    return (
      <section class="turn stack gap-2 is-prompt">
        <TurnHead icon="inbox" title="It read" note={[prompt.events.length > 0 ? plural(prompt.events.length, "event") : "", note].filter(Boolean).join(", ")} />
        <PlainText text={prompt.text} limit={3000} />
      </section>
    );
  }
  if (reply !== null) {
    const { usage } = reply;
    return (
      <section class="turn stack gap-2 is-reply">
        <TurnHead icon="agent" title="It thought" note={[note, `${formatSize(usage.promptTokens)} in + ${formatSize(usage.completionTokens)} out`, reply.model].filter(Boolean).join(", ")} />
        {reply.text !== "" && <Markdown text={reply.text} />}
        {reply.calls.map((call) => (
          <details key={call.id} class="tool-call" open={call.arguments.length < 240}>
            <summary>
              <Icon name="tool" size={13} />
              <code>
                <Line text={call.tool} limit={60} />
              </code>
            </summary>
            <DataView value={call.arguments} />
          </details>
        ))}
      </section>
    );
  }
  if (result === null) return null;
  return (
    <section class={`turn stack gap-2 is-result ${result.ok ? "" : "is-failed"}`}>
      <details class="tool-call" open={!result.ok}>
        <summary>
          <TurnHead icon={result.ok ? "check" : "alert"} title={result.ok ? "Result of" : "Failure of"} code={result.tool} note={note ?? ""} />
        </summary>
        <DataView value={result.content} />
      </details>
    </section>
  );
}

function TurnHead({ icon, title, code, note }: { icon: "inbox" | "agent" | "check" | "alert"; title: string; code?: string; note: string }) {
  return (
    <header class="turn-head line sm">
      <span class="muted">
        <Icon name={icon} size={13} />
      </span>
      <span class="turn-title strong">{title}</span>
      {code !== undefined && (
        <code>
          <Line text={code} limit={60} />
        </code>
      )}
      <span class="grow" />
      <Line text={note} limit={120} class="muted xs" />
    </header>
  );
}
