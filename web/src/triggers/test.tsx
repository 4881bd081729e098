/** Test a payload: see what would become of it, and who would get it. Nothing is sent. */

import { parseJson, type PreviewedEvent, type Trigger, type TriggerPreview } from "@gatepost/client";
import { useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { client, noticeFailure } from "../data/session.js";
import { buildPath } from "../router.js";
import { Icon } from "../ui/icons.js";
import { PlainText } from "../ui/markdown.js";
import { describePriority, Empty, Line, Priority } from "../ui/parts.js";
import { useSubmission } from "../ui/submission.js";
import { describeError, formatJson, plural, toLine } from "../ui/text.js";
import { AddressLink } from "./address-link.js";
import { describeReason } from "./describe.js";
import { findExample } from "./examples.js";

type Outcome = { preview: TriggerPreview } | { problem: string };

export function TriggerTest({ trigger }: { trigger: Trigger }) {
  const example = findExample(trigger);
  const [payload, setPayload] = useState(formatJson(example.payload));
  const [headers, setHeaders] = useState(example.headers);
  const [outcome, setOutcome] = useState<Outcome | undefined>(undefined);
  const { isBusy, submit } = useSubmission({ isKept: true });
  const run = () =>
    submit(async () => {
      try {
        setOutcome({ preview: await client.previewTrigger({ name: trigger.name, payload: parsePayload(payload), headers: parseHeaders(headers) }) });
        return true;
      } catch (error) {
        noticeFailure(error);
        setOutcome({ problem: describeError(error) });
        return false;
      }
    });
  useCommands([{ id: "run-test", title: "Test this payload", group: "Trigger", keys: "Enter", run: () => void run() }]);
  const runByKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void run();
    if (event.key === "Escape") (event.currentTarget as HTMLElement).blur();
  };
  const isWebhook = trigger.provider === "webhook";
  return (
    <div class="columns">
      <form class="test-form top stack gap-3" onSubmit={(event) => (event.preventDefault(), void run())}>
        <label class="label">
          Payload, as JSON
          <textarea class="field code-field" rows={16} value={payload} spellcheck={false} onInput={(event) => setPayload(event.currentTarget.value)} onKeyDown={runByKey} />
        </label>
        {isWebhook && (
          <label class="label">
            Headers, one a line
            <textarea class="field code-field" rows={2} value={headers} spellcheck={false} placeholder="X-GitHub-Event: push" onInput={(event) => setHeaders(event.currentTarget.value)} onKeyDown={runByKey} />
          </label>
        )}
        <div class="line gap-2 wrap sm">
          <button class="button primary" disabled={isBusy} title="Ctrl Enter">
            <Icon name="play" size={14} /> Test
          </button>
          <span class="muted">Nothing is sent or stored.</span>
        </div>
      </form>
      <section class="top stack gap-2" aria-label="What would happen" aria-live="polite">
        <h2>What would happen</h2>
        {outcome === undefined ? (
          <div class="card">
            <Empty icon="play" title="Not tested yet">
              <p>Change the example to what your service sends, and press Test. It needs no secret.</p>
            </Empty>
          </div>
        ) : "problem" in outcome ? (
          <p class="notice danger text">{toLine(outcome.problem, 600)}</p>
        ) : (
          <Preview preview={outcome.preview} trigger={trigger} />
        )}
      </section>
    </div>
  );
}

function Preview({ preview, trigger }: { preview: TriggerPreview; trigger: Trigger }) {
  if (preview.skipped !== null) {
    return (
      <p class="notice">
        <Icon name="close" size={14} /> <span class="text">{toLine(`No event: ${preview.skipped}`, 600)}</span>
      </p>
    );
  }
  return (
    <>
      {!trigger.active && <p class="notice">The trigger is closed now: nothing comes through it.</p>}
      {preview.events.length > 1 && <p class="muted">{plural(preview.events.length, "event")}</p>}
      {preview.events.map((event, index) => (
        <EventCard key={index} event={event} trigger={trigger} />
      ))}
    </>
  );
}

function EventCard({ event, trigger }: { event: PreviewedEvent; trigger: Trigger }) {
  return (
    <article class={`card test-event stack gap-3 pad ${event.reason === null ? "" : "is-unrouted"}`}>
      <div class="test-to line wrap sm">
        {event.reason === null ? (
          <>
            <Icon name="check" size={14} />
            <span>Goes to</span>
            {event.targets.map((target) => (
              <AddressLink key={target} address={target} />
            ))}
            <span class="line muted">
              {event.rule === null ? (trigger.target === null ? "by default" : "because the trigger says so") : "by the rule "}
              {event.rule !== null && (
                <a class="link address-link" href={buildPath("routes", event.rule)}>
                  <Line text={event.rule} limit={60} />
                </a>
              )}
            </span>
          </>
        ) : (
          <>
            <Icon name="alert" size={14} />
            <span>Nobody would get it: {describeReason(event.reason)}</span>
          </>
        )}
      </div>
      {event.subject !== null && event.subject !== "" && <p class="plan-name strong text">{toLine(event.subject, 300)}</p>}
      {event.content === "" ? <p class="muted">Without a text: the payload itself is its data.</p> : <PlainText text={event.content} limit={2000} />}
      <dl class="fact-line">
        <div>
          <dt>session</dt>
          <dd>
            <Line text={event.session} />
          </dd>
        </div>
        {event.priority !== null && (
          <div>
            <dt>priority</dt>
            <dd class="line">
              <Priority level={event.priority} /> {describePriority(event.priority)}
            </dd>
          </div>
        )}
      </dl>
      {event.reason !== null && (
        <div class="line gap-2 wrap sm">
          <a class="button small" href={`/routes?new=${encodeURIComponent(trigger.provider)}`}>
            <Icon name="plus" size={14} /> Add a rule
          </a>
        </div>
      )}
    </article>
  );
}

function parsePayload(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw new Error(`the payload is not JSON: ${error instanceof Error ? error.message : ""}`);
  }
}

function parseHeaders(text: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(":");
      if (colon < 1) throw new Error(`“${line.slice(0, 60)}” is not a header: write it as X-GitHub-Event: push`);
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    }),
  );
}
