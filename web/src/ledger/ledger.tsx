/**
 * The ledger: topics and whether they can be proved, profiles, and connections with agents outside. An id in the address
 * shows a topic: /ledger/0.0.1010, and a number after it a message.
 */

import "./ledger.css";
import "../ui/bar-chart.css";

import type { Topic, TopicKind } from "@gatepost/client";
import { useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { useLoad } from "../data/load.js";
import { client, isAdministrator } from "../data/session.js";
import { ComposeDialog } from "../mail/compose-dialog.js";
import { buildPath, changeQuery, navigate, query, segments } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Dots, Empty, Failure, Line, Skeleton } from "../ui/parts.js";
import { plural } from "../ui/text.js";
import { attempt, showToast } from "../ui/toasts.js";
import { RelativeTime } from "../ui/time.js";
import { ConnectionList } from "./connections.js";
import { describeKind, describeTopic, TOPIC_ICONS, TOPIC_KINDS } from "./describe.js";
import { ProfileList } from "./profiles.js";
import { findProof, verifyTopic, type TopicProof } from "./proof.js";
import { TopicPage } from "./topic.js";

const TABS = [
  ["topics", "Topics"],
  ["profiles", "Profiles"],
  ["connections", "Connections"],
] as const;
const PAGE_LENGTH = 500;
/** Topics that are checked at the same time. */
const MAX_CHECKS = 3;

export default function Ledger() {
  const name = segments.value[1] ?? "topics";
  useCommands(TABS.map(([id, label], index) => ({ id: `ledger-${id}`, title: `Show ${label.toLowerCase()} of the ledger`, group: "Ledger", keys: String(index + 1), run: () => navigate(tabPath(id)) })));
  if (/^\d+\.\d+\.\d+$/.test(name)) return <TopicPage key={name} id={name} />;
  const tab = TABS.find(([id]) => id === name)?.[0] ?? "topics";
  return tab === "profiles" ? <ProfileList head={<Head tab={tab} />} /> : tab === "connections" ? <ConnectionList head={<Head tab={tab} />} /> : <TopicList />;
}

function Head({ tab, children }: { tab: string; children?: preact.ComponentChildren }) {
  return (
    <header class="view-head has-tabs">
      <h1>Ledger</h1>
      <nav class="tabs" aria-label="Part of the ledger">
        {TABS.map(([id, label]) => (
          <a key={id} class="tab" href={tabPath(id)} aria-current={id === tab ? "page" : undefined}>
            {label}
          </a>
        ))}
      </nav>
      <span class="grow" />
      {children}
    </header>
  );
}

function TopicList() {
  const kind = TOPIC_KINDS.find((name) => name === query.value.get("kind"));
  const isAll = query.value.get("show") === "all";
  const { value, error, reload } = useLoad(
    async (signal) => {
      const topics: Topic[] = [];
      for await (const topic of client.pages(client.listTopics, { limit: PAGE_LENGTH, ...(kind === undefined ? {} : { kind }) }, { signal })) topics.push(topic);
      return topics;
    },
    [kind ?? ""],
  );
  // Most entities have a log that nobody has written to; files belong to messages elsewhere.
  const sorted = (value ?? []).toSorted((a, b) => Number(a.kind === "file") - Number(b.kind === "file") || (b.lastMessageAt ?? "").localeCompare(a.lastMessageAt ?? ""));
  const filled = sorted.filter((topic) => topic.messages > 0);
  const list = isAll ? sorted : filled;
  const [selected, setSelected] = useState(-1);
  const index = Math.min(selected, list.length - 1);
  const [isChecking, setChecking] = useState(false);
  const verifyAll = async () => {
    if (isChecking || filled.length === 0) return;
    setChecking(true);
    const queue = [...filled];
    const proofs: TopicProof[] = [];
    const work = async () => {
      for (let topic = queue.shift(); topic !== undefined; topic = queue.shift()) proofs.push(await verifyTopic(topic.id));
    };
    await Promise.all(Array.from({ length: MAX_CHECKS }, work));
    setChecking(false);
    const wrong = proofs.filter((proof) => proof.status !== "proved").length;
    showToast(wrong === 0 ? `${plural(proofs.length, "topic")} proved` : `${plural(wrong, "topic")} of ${proofs.length} cannot be proved`, { isError: wrong > 0 });
  };
  useCommands([
    { id: "next", title: "Next topic", group: "Ledger", keys: "j", run: () => setSelected(Math.min(list.length - 1, index + 1)), isKeyOnly: true },
    { id: "previous", title: "Previous topic", group: "Ledger", keys: "k", run: () => setSelected(Math.max(0, index - 1)), isKeyOnly: true },
    { id: "open-topic", title: "Open the selected topic", group: "Ledger", keys: "Enter", run: () => list[index] && navigate(buildPath("ledger", list[index].id)), isKeyOnly: true },
    { id: "verify-selected", title: "Verify the selected topic", group: "Ledger", keys: "v", run: () => list[index] && void verifyTopic(list[index].id), isKeyOnly: true },
    { id: "verify-all", title: "Verify all topics", group: "Ledger", keys: "V", run: () => void verifyAll() },
  ]);
  return (
    <>
      <Head tab="topics">
        <select class="tab kind-select" aria-label="Kind of topic" value={kind ?? ""} onChange={(event) => changeQuery({ kind: event.currentTarget.value })}>
          <option value="">all kinds</option>
          {TOPIC_KINDS.map((name: TopicKind) => (
            <option key={name} value={name}>
              {describeKind(name)}
            </option>
          ))}
        </select>
        <button class="button" title="Verify all (V)" disabled={isChecking || filled.length === 0} onClick={() => void verifyAll()}>
          <Icon name="shield" size={14} /> Verify all
        </button>
      </Head>
      <div class="view-body">
        {value === undefined ? (
          error === undefined ? (
            <Skeleton rows={10} />
          ) : (
            <Failure error={error} onRetry={reload} />
          )
        ) : list.length === 0 ? (
          <NoTopics isFiltered={kind !== undefined} onSync={reload} />
        ) : (
          <>
            <ol class="card row-list">
              {list.map((topic, position) => (
                <li key={topic.id}>
                  <TopicRow topic={topic} isSelected={position === index} />
                </li>
              ))}
            </ol>
            {value.length > filled.length && (
              <button class="button small quiet more-button" onClick={() => changeQuery({ show: isAll ? undefined : "all" })}>
                {isAll ? "Hide topics without messages" : `Show ${plural(value.length - filled.length, "topic")} without messages`}
              </button>
            )}
          </>
        )}
      </div>
    </>
  );
}

function TopicRow({ topic, isSelected }: { topic: Topic; isSelected: boolean }) {
  return (
    <a class={`row topic-row ${isSelected ? "is-selected" : ""}`} href={buildPath("ledger", topic.id)}>
      <span class="muted" title={describeKind(topic.kind)}>
        <Icon name={TOPIC_ICONS[topic.kind]} size={15} />
      </span>
      <Line text={describeTopic(topic)} class="topic-name" />
      <code class="muted xs phone-2-2">{topic.id}</code>
      <ProofBadge proof={findProof(topic.id)} />
      <span class="number phone-2-3">{plural(topic.messages, "message")}</span>
      <span class="number muted hide-phone">{topic.lastMessageAt !== null && <RelativeTime time={topic.lastMessageAt} />}</span>
    </a>
  );
}

export function ProofBadge({ proof }: { proof: TopicProof | undefined }) {
  if (proof === undefined) return <span class="proof-badge phone-1-3" />;
  const [tone, text] =
    proof.status === "running" ? ["", "checking"] : proof.status === "proved" ? ["accent", "proved"] : proof.status === "wrong" ? ["danger", `message ${proof.faults[0]?.sequenceNumber} is wrong`] : ["warn", "not checked"];
  return (
    <span class="proof-badge phone-1-3">
      <span class={`badge ${tone}`}>
        {proof.status === "running" && <Dots />} {text}
      </span>
    </span>
  );
}

function NoTopics({ isFiltered, onSync }: { isFiltered: boolean; onSync: () => void }) {
  const [isWriting, setWriting] = useState(false);
  if (isFiltered) {
    return (
      <Empty icon="ledger" title="No topic of this kind has messages">
        <button class="button" onClick={() => changeQuery({ kind: undefined })}>
          Show all kinds
        </button>
      </Empty>
    );
  }
  return (
    <Empty icon="ledger" title="Nothing was recorded yet">
      <p>Mail, notes and events of work items are recorded when they are sent, so that they can be proved afterwards.</p>
      <button class="button" onClick={() => setWriting(true)}>
        Write mail
      </button>
      {isAdministrator.value && (
        <button class="button" onClick={() => void attempt(() => client.syncLedger({}), "Accounts, topics and profiles are made").then(onSync)}>
          Publish the profiles now
        </button>
      )}
      {isWriting && <ComposeDialog onClose={() => setWriting(false)} onSent={onSync} />}
    </Empty>
  );
}

function tabPath(tab: string): string {
  return tab === "topics" ? "/ledger" : buildPath("ledger", tab);
}
