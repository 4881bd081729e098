/** One turn of a cycle: what the agent was shown, what its model said, what a tool returned. */

import type { Prompt, Turn } from "@gatepost/client";

import { buildPath } from "../router.js";
import { DataView } from "../ui/fields.js";
import { Icon } from "../ui/icons.js";
import { Markdown, PlainText } from "../ui/markdown.js";
import { Line } from "../ui/parts.js";
import { formatSize, plural } from "../ui/text.js";
import { canOpen } from "../views.js";

/** Characters of a text that are shown at first. */
const MAX_TEXT = 3000;

interface TurnProps {
  turn: Turn;
  /** Whose turn it is, if what it read is to be led to. */
  agent?: string;
  note?: string;
}

export function TurnView({ turn, agent, note }: TurnProps) {
  const { prompt, reply, result } = turn;
  if (prompt !== null) {
    return (
      <section class="turn stack gap-2 is-prompt">
        <TurnHead icon="inbox" title="It read" note={[prompt.events.length > 0 ? plural(prompt.events.length, "event") : "", note].filter(Boolean).join(", ")} />
        <PromptText prompt={prompt} agent={agent !== undefined && canOpen(buildPath("inbox", agent)) ? agent : undefined} />
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

/** What it read; each event is one line after that of the batch, and leads to the item of its agent. */
function PromptText({ prompt, agent }: { prompt: Prompt; agent: string | undefined }) {
  const lines = prompt.text.split("\n");
  const first = lines.findIndex((line) => line.startsWith("INBOX (")) + 1;
  const last = first + prompt.events.length;
  if (agent === undefined || first === 0 || prompt.events.length === 0 || last > lines.length) return <PlainText text={prompt.text} limit={MAX_TEXT} />;
  const rest = lines.slice(last).join("\n");
  return (
    <>
      <PlainText text={lines.slice(0, first).join("\n")} limit={MAX_TEXT} />
      <ul class="event-lines stack gap-1" aria-label="Events">
        {prompt.events.map((event, index) => (
          <li key={event} class="event-line line top">
            <div class="grow">
              <PlainText text={lines[first + index] ?? ""} limit={MAX_TEXT} />
            </div>
            <a class="icon-button" href={`${buildPath("inbox", agent, event)}?state=all`} aria-label="Show the event" title="Show the event">
              <Icon name="inbox" size={14} />
            </a>
          </li>
        ))}
      </ul>
      {rest.trim() !== "" && <PlainText text={rest} limit={MAX_TEXT} />}
    </>
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
