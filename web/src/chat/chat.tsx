/** Chat: the person's conversations on the page, and the one that is open. */

import "../spaces/messages.css";
import "./chat.css";

import { useEffect, useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { buildPath, navigate, segments } from "../router.js";
import { Failure, Skeleton } from "../ui/parts.js";
import { Conversation } from "./conversation-view.js";
import { parseBase } from "./session-id.js";
import { SessionList } from "./session-list.js";
import { error, followSessions, loadSessions, sessions } from "./sessions.js";
import { NewDialog, Start } from "./start.js";

export default function ChatView() {
  const openId = segments.value[1];
  const [isCreating, setCreating] = useState(false);
  useEffect(followSessions, []);
  const list = sessions.value;
  const index = list?.findIndex((session) => openId !== undefined && parseBase(session.id) === parseBase(openId)) ?? -1;
  const select = (next: number) => {
    const session = list?.[Math.max(0, Math.min(list.length - 1, next))];
    if (session) navigate(buildPath("chat", session.id), { replace: openId !== undefined });
  };
  useCommands([
    { id: "next", title: "Next conversation", group: "Chat", keys: "j", run: () => select(index + 1), isKeyOnly: true },
    { id: "previous", title: "Previous conversation", group: "Chat", keys: "k", run: () => select(index - 1), isKeyOnly: true },
    { id: "new-conversation", title: "New conversation", group: "Chat", keys: "c", run: () => setCreating(true) },
    { id: "close", title: "Back to the conversations", group: "Chat", keys: "Escape", run: () => navigate("/chat"), isKeyOnly: true },
  ]);
  return (
    <div class={`chat ${openId === undefined ? "" : "has-conversation"} ${list?.length === 0 ? "has-none" : ""}`}>
      {list === undefined ? (
        <section class="session-list pane" aria-label="Conversations">
          <header class="view-head">
            {openId === undefined ? <h1>Chat</h1> : <h2 class="view-title">Chat</h2>}
          </header>
          {error.value === undefined ? <Skeleton rows={8} /> : <Failure error={error.value} onRetry={() => void loadSessions()} />}
        </section>
      ) : (
        <SessionList list={list} openId={openId} onCreate={() => setCreating(true)} />
      )}
      {openId === undefined ? (
        <section class="chat-empty" aria-label="Start a conversation">
          <Start />
        </section>
      ) : (
        <Conversation key={openId} id={openId} />
      )}
      {isCreating && <NewDialog onClose={() => setCreating(false)} />}
    </div>
  );
}
