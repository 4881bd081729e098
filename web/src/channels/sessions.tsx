/** Sessions: the conversations of people on channels. */

import type { ChannelSession } from "@gatepost/client";

import { displayName } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { useFollow } from "../plans/follow.js";
import { changeQuery, navigate, query } from "../router.js";
import { TriggersHead } from "../triggers/head.js";
import { Icon } from "../ui/icons.js";
import { Avatar, Empty, Failure, Line, Skeleton } from "../ui/parts.js";
import { useRowKeys } from "../ui/row-keys.js";
import { toLine } from "../ui/text.js";
import { RelativeTime } from "../ui/time.js";

const MAX_SESSIONS = 2000;

export function Sessions() {
  const channel = query.value.get("channel") ?? undefined;
  const { value, error, reload, refresh } = useLoad(async (signal) => {
    const list: ChannelSession[] = [];
    for await (const session of client.pages(client.listChannelSessions, { ...(channel === undefined ? {} : { channel }), limit: 500 }, { signal })) {
      if (list.push(session) >= MAX_SESSIONS) break;
    }
    return list.sort((a, b) => b.lastAt.localeCompare(a.lastAt));
  }, [channel ?? ""]);
  useFollow(refresh, ({ event }) => event === "shared.entry");
  const list = value ?? [];
  const { index } = useRowKeys("Sessions", list, (session) => navigate(sessionPath(session)));
  return (
    <>
      <TriggersHead />
      <div class="view-body top stack gap-3">
        {channel !== undefined && (
          <p class="line gap-2 sm soft">
            Sessions of <b class="text">{toLine(channel, 60)}</b>
            <button class="button small quiet" onClick={() => changeQuery({ channel: undefined })}>
              <Icon name="close" size={12} /> All channels
            </button>
          </p>
        )}
        {value === undefined ? (
          error === undefined ? <Skeleton /> : <Failure error={error} onRetry={reload} />
        ) : list.length === 0 ? (
          <Empty icon="space" title="Nobody has written yet">
            <p>Each conversation of a person on a channel is a session: on this page, on the command line, with a bot.</p>
            <a class="button" href="/chat">
              Go to chat
            </a>
          </Empty>
        ) : (
          <ul class="card row-list">
            {list.map((session, position) => (
              <li key={`${session.channel}:${session.trigger ?? ""}:${session.sessionId}`}>
                <a class={`row contact-row ${position === index ? "is-selected" : ""}`} href={sessionPath(session)}>
                  <span class="plan-who line">
                    <Avatar name={personName(session)} kind="human" isSmall />
                    <Line text={personName(session)} class="plan-name strong" />
                  </span>
                  <Line text={session.sessionId} class="muted phone-2-1" />
                  <Line text={session.trigger ?? session.channel} class="phone-2-2" />
                  <span class="number muted">
                    <RelativeTime time={session.lastAt} />
                  </span>
                </a>
              </li>
            ))}
          </ul>
        )}
      </div>
    </>
  );
}

/** Return where the messages of a session are shown. */
function sessionPath({ channel, sessionId }: ChannelSession): string {
  return `/shared?${new URLSearchParams({ channel, session: sessionId })}`;
}

function personName(session: ChannelSession): string {
  return session.person === null ? (session.userName ?? session.userId ?? "nobody here") : displayName(session.person);
}
