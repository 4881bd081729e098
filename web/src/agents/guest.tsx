/** What a guest has: the sessions of its program, and what it was shown there. */

import type { Item, Session } from "@gatepost/client";
import { useEffect } from "preact/hooks";

import { follow } from "../data/feed.js";
import { isAboutInbox } from "../data/live.js";
import { useInterval, useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { buildPath } from "../router.js";
import { Empty, Failure, Line, Skeleton } from "../ui/parts.js";
import { stripMarks } from "../ui/text.js";
import { RelativeTime } from "../ui/time.js";
import { canOpen } from "../views.js";
import { Reached } from "./reachability.js";

/** Milliseconds between two looks for sessions, which no event tells of. */
const INTERVAL = 5_000;
const MAX_ITEMS = 30;

/** The programs in which guests live, by the words of their hooks. */
const PROGRAMS: Record<string, string> = { claude: "Claude Code", codex: "Codex", gemini: "Gemini CLI", cursor: "Cursor", opencode: "OpenCode" };

export function describeProgram(host: string): string {
  return PROGRAMS[host] ?? host;
}

/** Return the sessions of a guest, and look again now and then. */
export function useSessions(name: string, interval = INTERVAL) {
  const load = useLoad((signal) => client.listSessions({ agent: name, ended: true, limit: 20 }, { signal }), [name]);
  useInterval(load.refresh, interval);
  return load;
}

export function GuestActivity({ name }: { name: string }) {
  const { value, error, reload } = useSessions(name);
  if (value === undefined) return error === undefined ? <Skeleton /> : <Failure error={error} onRetry={reload} />;
  return (
    <div class="stack gap-5">
      {value.items.length === 0 ? (
        <Empty icon="terminal" title="No session yet">
          <p>A session is here as soon as the program of this agent runs its first hook. A program that reads its inbox over MCP or HTTP alone has none.</p>
        </Empty>
      ) : (
        <section class="stack gap-2" aria-labelledby="sessions">
          <h2 id="sessions">Sessions</h2>
          <ul class="card row-list">
            {value.items.map((session) => (
              <li key={session.id}>
                <SessionRow session={session} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {canOpen(buildPath("inbox", name)) && <Deliveries name={name} />}
    </div>
  );
}

function SessionRow({ session }: { session: Session }) {
  const isOpen = session.state !== "ended";
  return (
    <div class="row line guest-session">
      <span class={`mark ${session.state === "working" ? "accent" : ""}`} />
      <span class="stack grow">
        <span class="line gap-2">
          <Line text={describeProgram(session.host)} limit={40} class="strong" />
          <span class={`badge ${session.state === "working" ? "accent" : ""}`}>{session.state === "working" ? "works" : isOpen ? "waits for its person" : "ended"}</span>
        </span>
        <span class="line wrap gap-2 xs muted">
          {isOpen && <Reached reachability={session.reachability} />}
          <Line text={session.id} limit={120} />
        </span>
      </span>
      <span class="muted xs">
        seen <RelativeTime hasAgo time={session.seenAt} />
      </span>
    </div>
  );
}

/** What it was shown last, and whether it is certain that its model has read it. */
function Deliveries({ name }: { name: string }) {
  const { value, error, reload, refresh } = useLoad((signal) => client.listInbox({ name, newestFirst: true, limit: 200 }, { signal }), [name]);
  useInterval(refresh, INTERVAL);
  useEffect(() => follow((event) => isAboutInbox(event, name), refresh), [name]);
  if (value === undefined) return error === undefined ? <Skeleton rows={3} /> : <Failure error={error} onRetry={reload} />;
  const shown = value.items.filter((item) => item.receipt !== null && (item.state === "claimed" || item.state === "delivered"));
  return (
    <section class="stack gap-2" aria-labelledby="shown">
      <h2 id="shown">What it was shown</h2>
      {shown.length === 0 ? (
        <p class="card pad sm muted">Nothing yet.</p>
      ) : (
        <ul class="card row-list">
          {shown.slice(0, MAX_ITEMS).map((item) => (
            <li key={item.eventId}>
              <a class="row delivery" href={buildPath("inbox", name, item.eventId)}>
                <Line text={item.subject ?? stripMarks(item.content.slice(0, 400))} />
                <Proof item={item} />
                {item.receipt && <RelativeTime time={item.receipt.at} />}
              </a>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Proof({ item }: { item: Item }) {
  const { kind, owner } = item.receipt ?? { kind: "", owner: "" };
  if (item.state === "claimed") {
    return (
      <span class="badge warn" title={kind === "session" ? `in the session ${owner}` : `held by ${owner}`}>
        {kind === "session" ? "shown, not proved yet" : "held"}
      </span>
    );
  }
  if (kind === "session") {
    return (
      <span class="badge accent" title={`Its model answered after it, in the session ${owner}`}>
        read: proved
      </span>
    );
  }
  return (
    <span class="badge" title={`taken by ${owner}`}>
      {kind === "person" ? "done by a person" : "handed over"}
    </span>
  );
}
