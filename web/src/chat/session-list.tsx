/** The list of the person's conversations. */

import { displayName, findEntity } from "../data/live.js";
import { me } from "../data/session.js";
import { buildPath } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Avatar, Line } from "../ui/parts.js";
import { plural, stripMarks } from "../ui/text.js";
import { RelativeTime } from "../ui/time.js";
import { listTargets } from "./entry.js";
import { describeSession, parseBase, parseName } from "./session-id.js";
import { readRecipient, type ChatSession } from "./sessions.js";

interface ListProps {
  list: readonly ChatSession[];
  openId: string | undefined;
  onCreate: () => void;
}

export function SessionList({ list, openId, onCreate }: ListProps) {
  // What is open has the first heading.
  const Heading = openId === undefined ? "h1" : "h2";
  return (
    <section class="session-list pane" aria-label="Conversations">
      <header class="view-head">
        <Heading class="view-title">Chat</Heading>
        <span class="grow" />
        <button class="button" title="New conversation (c)" onClick={onCreate}>
          <Icon name="plus" size={14} /> New
        </button>
      </header>
      <ul class="session-rows fill">
        {list.map((session) => (
          <SessionRow key={parseBase(session.id)} session={session} isOpen={openId !== undefined && parseBase(openId) === parseBase(session.id)} />
        ))}
      </ul>
    </section>
  );
}

function SessionRow({ session, isOpen }: { session: ChatSession; isOpen: boolean }) {
  const { last } = session;
  const partner = findPartner(session);
  const words = last === undefined ? "" : last === null ? "Nothing was said yet" : (last.sender === me.value ? "You: " : "") + stripMarks(last.content.slice(0, 300));
  return (
    <li>
      <a class={`row session-row ${session.isUnread ? "is-unread" : ""}`} href={buildPath("chat", session.id)} aria-current={isOpen ? "page" : undefined}>
        <Avatar name={partner === undefined ? describeSession(session.id) : displayName(partner)} kind={partner === undefined ? "service" : (findEntity(partner)?.kind ?? "agent")} />
        <span class="session-who line gap-2">
          <Line text={describeSession(session.id)} limit={60} class="session-name" />
          <RelativeTime time={session.lastAt} />
        </span>
        <span class="line gap-2">
          <Line text={words} limit={120} class="muted grow" />
          {session.questions > 0 ? (
            <span class="count" title={`${plural(session.questions, "question")} for you`}>
              {session.questions}
            </span>
          ) : (
            session.isUnread && (
              <span class="mark accent">
                <span class="visually-hidden">unread</span>
              </span>
            )
          )}
        </span>
      </a>
    </li>
  );
}

/** Return whom a conversation is with, if it is with one agent. */
function findPartner({ id, last }: ChatSession): string | undefined {
  const chosen = readRecipient(id);
  if (typeof chosen === "string") return chosen;
  if (last && last.kind !== "user_prompt" && last.sender !== null) return last.sender;
  const targets = last ? listTargets(last) : [];
  const name = parseName(id);
  return targets.length === 1 ? targets[0] : name !== undefined && findEntity(name) !== undefined ? name : undefined;
}
