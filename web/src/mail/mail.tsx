/** The mail that the person has sent, and whether it was read; and mail to be written. */

import "./mail.css";

import type { CallOptions, MailRecipient, Mail as SentMail, PageRequest } from "@gatepost/client";
import { useEffect, useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { follow } from "../data/feed.js";
import { displayName } from "../data/live.js";
import { useInterval, useLoad } from "../data/load.js";
import { usePages } from "../data/pages.js";
import { client, me } from "../data/session.js";
import { describeState } from "../inbox/describe.js";
import { buildPath, navigate, segments } from "../router.js";
import { useSubject } from "../title.js";
import { Icon } from "../ui/icons.js";
import { Markdown } from "../ui/markdown.js";
import { Name } from "../ui/name.js";
import { Empty, Failure, Line, Skeleton, Unloaded } from "../ui/parts.js";
import { useRowKeys } from "../ui/row-keys.js";
import { stripMarks, toLine } from "../ui/text.js";
import { formatExact, RelativeTime } from "../ui/time.js";
import { attempt } from "../ui/toasts.js";
import { ComposeDialog } from "./compose-dialog.js";

const PAGE_LENGTH = 100;
/** How many letters of a thread are shown. */
const THREAD_LENGTH = 50;
/** No event tells that others have read mail. */
const REFRESH_INTERVAL = 20_000;

export default function Mail() {
  const id = segments.value[1];
  return id === undefined ? <SentList /> : <MailPage id={id} />;
}

function SentList() {
  const [isWriting, setWriting] = useState(false);
  const load = (page: PageRequest, options?: CallOptions) => client.listMail({ box: "sent", sender: me.value, ...page }, options);
  const { items: list, hasMore, isLoading, error, refresh, loadMore } = usePages(load, ({ id }) => id, PAGE_LENGTH, me.value);
  useInterval(refresh, REFRESH_INTERVAL);
  const { index } = useRowKeys("Mail", list, (mail) => navigate(buildPath("mail", mail.id)), ({ id }) => id);
  useCommands([{ id: "write-mail", title: "Write mail", group: "Mail", keys: "c", run: () => setWriting(true) }]);
  return (
    <>
      <header class="view-head">
        <h1>Sent mail</h1>
        <span class="grow" />
        <button class="button primary" title="c" onClick={() => setWriting(true)}>
          <Icon name="plus" size={14} /> Write mail
        </button>
      </header>
      <div class="view-body top">
        {isLoading ? (
          <Skeleton />
        ) : list.length === 0 && error !== undefined ? (
          <Failure error={error} onRetry={refresh} />
        ) : list.length === 0 ? (
          <Empty icon="mail" title="You have sent no mail yet">
            <p>Mail to an agent, a person or a team is in their inbox. Here you see whether it was read. What others write to you is in your inbox.</p>
          </Empty>
        ) : (
          <ul class="card row-list">
            {list.map((mail, position) => (
              <li key={mail.id}>
                <a class={`row mail-row ${position === index ? "is-selected" : ""}`} href={buildPath("mail", mail.id)}>
                  <Line text={displayName(mail.to)} class="strong" limit={80} />
                  <span class="mail-text line">
                    {mail.subject && <Line text={mail.subject} limit={100} />}
                    <Line text={stripMarks(mail.text.slice(0, 300))} limit={160} class="muted" />
                  </span>
                  <span class="muted line end">{describeReaders(mail)}</span>
                  <RelativeTime time={mail.createdAt} />
                </a>
              </li>
            ))}
          </ul>
        )}
        {hasMore && (
          <button class="button start" onClick={() => void attempt(loadMore)}>
            Older mail
          </button>
        )}
      </div>
      {isWriting && <ComposeDialog onClose={() => setWriting(false)} onSent={refresh} />}
    </>
  );
}

function MailPage({ id }: { id: string }) {
  const { value, error, reload, refresh } = useLoad((signal) => loadMail(id, signal), [id]);
  useEffect(() => follow(({ event }) => event === "inbox.item", refresh), [id]);
  useInterval(refresh, REFRESH_INTERVAL);
  useSubject(value && (value.mail.subject || value.mail.text));
  useCommands([{ id: "close", title: "Back to the list", group: "Mail", keys: "Escape", run: () => navigate("/mail"), isKeyOnly: true }]);
  if (value === undefined) return <Unloaded title="Mail" back="/mail" backLabel="All sent mail" error={error} onRetry={reload} />;
  const { mail, thread } = value;
  return (
    <>
      <header class="view-head">
        <a class="icon-button" href="/mail" aria-label="All sent mail">
          <Icon name="back" />
        </a>
        <h1 class="line-text">
          <Line text={mail.subject || "Mail"} limit={160} />
        </h1>
      </header>
      <div class="view-body top stack gap-4 mail-page">
        <ol class="thread stack gap-3" aria-label="The thread">
          {thread.map((letter) => (
            <li key={letter.id} class="card pad stack gap-2">
              <p class="line gap-2 sm">
                {letter.sender === me.value ? <Line text={`You, to ${toLine(displayName(letter.to), 60)}`} class="strong grow" /> : <Name name={letter.sender} class="strong grow" />}
                <span class="muted">
                  <RelativeTime hasAgo time={letter.createdAt} />
                </span>
              </p>
              <Markdown text={letter.text} />
            </li>
          ))}
        </ol>
        <section class="stack gap-2" aria-labelledby="readers">
          <h2 id="readers">Who has read it</h2>
          <ul class="card row-list">
            {mail.recipients.map((recipient) => (
              <li key={recipient.name} class="row reader-row">
                <Line text={displayName(recipient.name)} class="strong" limit={80} />
                <span class="muted">{describeReading(recipient)}</span>
                <span class="muted">{formatReading(recipient)}</span>
              </li>
            ))}
          </ul>
        </section>
      </div>
    </>
  );
}

/** Load mail and the last letters of its thread, the oldest first. */
async function loadMail(id: string, signal: AbortSignal) {
  const mail = await client.showMail({ id }, { signal });
  const { items } = await client.listMail({ box: "thread", thread: mail.threadId, sender: me.value, limit: THREAD_LENGTH }, { signal });
  const thread = items.toReversed();
  return { mail, thread: thread.some((letter) => letter.id === mail.id) ? thread : [mail, ...thread] };
}

function describeReaders(mail: SentMail): string {
  const total = Object.values(mail.states).reduce((sum, count) => sum + count, 0);
  const read = mail.states["delivered"] ?? 0;
  if (total === 0) return "on its way";
  const [recipient] = mail.recipients;
  return total > 1 || recipient === undefined ? `${read} of ${total} read` : describeReading(recipient);
}

function describeReading({ state, seenAt }: MailRecipient): string {
  if (state === "delivered") return "read";
  return seenAt === null ? describeState(state, true) : "seen";
}

/** Return when mail was read, or ended otherwise, or was seen. */
function formatReading({ endedAt, seenAt }: MailRecipient): string {
  const time = endedAt ?? seenAt;
  return time === null ? "" : formatExact(time);
}
