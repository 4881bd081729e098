/** A topic: the proof of it, its messages, and the one that is read. */

import type { Topic, TopicMessage } from "@gatepost/client";
import { useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { displayName, findEntity } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { usePages } from "../data/pages.js";
import { client, noticeFailure } from "../data/session.js";
import { buildPath, keepQuery, navigate, query, segments } from "../router.js";
import { useSubject } from "../title.js";
import { Icon } from "../ui/icons.js";
import { Empty, Failure, Line, Skeleton, Unloaded } from "../ui/parts.js";
import { VirtualList } from "../ui/virtual-list.js";
import { stripMarks } from "../ui/text.js";
import { RelativeTime } from "../ui/time.js";
import { describeKind, describeTopic, formatConsensus, readContent } from "./describe.js";
import { MessageDetail } from "./message.js";
import { findProof, judgeMessage, verifyTopic, type TopicProof } from "./proof.js";
import { ProofPanel, VerdictMark } from "./proof-panel.js";
import { loadSenders, type Senders } from "./senders.js";

const ROW_HEIGHT = 52;
const PAGE_LENGTH = 200;

export function TopicPage({ id }: { id: string }) {
  const { value: topic, error, reload } = useLoad((signal) => client.showTopic({ id }, { signal }), [id]);
  useSubject(topic && describeTopic(topic));
  const { value: senders } = useLoad((signal) => loadSenders(signal), []);
  const first = Math.max(1, Number(query.value.get("from")) || 1);
  const list = usePages(({ after = first - 1, limit }, options) => client.listTopicMessages({ id, after, limit }, options), ({ sequenceNumber }) => String(sequenceNumber), PAGE_LENGTH, `${id} ${first}`);
  const openSequence = Number(segments.value[2]) || undefined;
  const openIndex = list.items.findIndex((message) => message.sequenceNumber === openSequence);
  const [cursor, setCursor] = useState(-1);
  const index = openIndex >= 0 ? openIndex : Math.min(cursor, list.items.length - 1);
  const proof = findProof(id);
  const verify = () => {
    if (proof?.status === "running") return;
    // What is shown is what was checked.
    void verifyTopic(id).then(() => (reload(), list.refresh()));
  };
  const open = (message: TopicMessage) => navigate(keepQuery(buildPath("ledger", id, String(message.sequenceNumber))), { replace: openSequence !== undefined });
  const close = () => navigate(keepQuery(buildPath("ledger", id)));
  const select = (next: number) => {
    const position = Math.max(0, Math.min(list.items.length - 1, next));
    setCursor(position);
    const message = list.items[position];
    if (message !== undefined && openSequence !== undefined) open(message);
  };
  useCommands([
    { id: "verify", title: "Verify this topic", group: "Ledger", keys: "v", run: verify },
    { id: "next", title: "Next message", group: "Ledger", keys: "j", run: () => select(index + 1), isKeyOnly: true },
    { id: "previous", title: "Previous message", group: "Ledger", keys: "k", run: () => select(index - 1), isKeyOnly: true },
    { id: "open-message", title: "Open the message", group: "Ledger", keys: "Enter", run: () => list.items[index] && open(list.items[index]), isKeyOnly: true },
    { id: "back", title: "Back", group: "Ledger", keys: "Escape", run: () => (openSequence === undefined ? navigate("/ledger") : close()), isKeyOnly: true },
    ...(proof?.faults[0] ? [{ id: "show-fault", title: "Show the first message that is wrong", group: "Ledger", keys: "x", run: () => navigate(linkMessage(id, proof.faults[0]?.sequenceNumber ?? 1)) }] : []),
  ]);
  if (topic === undefined) return <Unloaded title="Topic" back="/ledger" backLabel="All topics" error={error} onRetry={reload} />;
  return (
    <div class={`topic pane ${openSequence === undefined ? "" : "has-detail"}`}>
      <TopicHead topic={topic} proof={proof} onVerify={verify} />
      <ProofPanel topic={topic} proof={proof} linkMessage={(sequence) => linkMessage(id, sequence)} />
      <div class="topic-body stack fill">
        <section class="topic-messages pane" aria-label="Messages">
          {first > 1 && (
            <a class="topic-earlier sm link" href={openSequence === undefined ? buildPath("ledger", id) : buildPath("ledger", id, String(openSequence))}>
              Messages before {first}
            </a>
          )}
          {list.isLoading ? (
            <Skeleton rows={8} />
          ) : list.items.length === 0 ? (
            list.error === undefined ? (
              <Empty icon="ledger" title="No messages">
                <p>What is sent to this topic is recorded here, in its order.</p>
              </Empty>
            ) : (
              <Failure error={list.error} onRetry={list.refresh} />
            )
          ) : (
            <VirtualList
              items={list.items}
              rowHeight={ROW_HEIGHT}
              selectedIndex={index}
              onEnd={() => void list.loadMore().catch(noticeFailure)}
              label="Messages"
              renderRow={(message, position) => <MessageRow message={message} proof={proof} senders={senders} isSelected={position === index} />}
            />
          )}
        </section>
        {openSequence !== undefined && <MessagePane key={openSequence} topic={id} sequence={openSequence} listed={list.items[openIndex]} proof={proof} senders={senders} onClose={close} />}
      </div>
    </div>
  );
}

function TopicHead({ topic, proof, onVerify }: { topic: Topic; proof: TopicProof | undefined; onVerify: () => void }) {
  const { entity } = topic;
  return (
    <header class="view-head">
      <a class="icon-button" href="/ledger" aria-label="All topics">
        <Icon name="back" />
      </a>
      <h1 class="line-text">
        <Line text={describeTopic(topic)} limit={80} />
      </h1>
      <code class="muted xs hide-phone">{topic.id}</code>
      <span class="badge hide-phone">{describeKind(topic.kind)}</span>
      {topic.network !== "local" && <span class="badge">{topic.network}</span>}
      {entity !== null && (
        <a class="link hide-phone topic-owner xs line-text" href={buildPath("ledger", "profiles", entity)}>
          profile of <Line text={displayName(entity)} limit={40} />
        </a>
      )}
      <span class="grow" />
      <button class="button primary verify-button" title="Verify (v)" disabled={proof?.status === "running" || topic.messages === 0} onClick={onVerify}>
        <Icon name="shield" size={14} /> Verify
      </button>
    </header>
  );
}

interface RowProps {
  message: TopicMessage;
  proof: TopicProof | undefined;
  senders: Senders | undefined;
  isSelected: boolean;
}

function MessageRow({ message, proof, senders, isSelected }: RowProps) {
  const content = readContent(message);
  const sender = senders?.byAccount.get(message.payerAccountId);
  return (
    <a class={`row ledger-row ${isSelected ? "is-selected" : ""}`} href={keepQuery(buildPath("ledger", message.topicId, String(message.sequenceNumber)))}>
      <span class="number muted">{message.sequenceNumber}</span>
      <VerdictMark verdict={judgeMessage(proof, message.sequenceNumber)} />
      <span class="ledger-what stack">
        <span class="ledger-who nowrap line">
          <Line text={sender === undefined ? message.payerAccountId : displayName(sender)} limit={60} class="agent-name strong" />
          <Line text={content.kind} limit={40} class="muted" />
          {message.refused !== null && <span class="badge warn">does not count</span>}
        </span>
        <Line text={stripMarks(content.text)} class="muted" />
      </span>
      <RelativeTime time={formatConsensus(message.consensusTimestamp).time} />
    </a>
  );
}

interface PaneProps {
  topic: string;
  sequence: number;
  listed: TopicMessage | undefined;
  proof: TopicProof | undefined;
  senders: Senders | undefined;
  onClose: () => void;
}

/** A message of the list, or one that is only in the address. */
function MessagePane({ topic, sequence, listed, proof, senders, onClose }: PaneProps) {
  const { value, error, reload } = useLoad(
    async (signal) => (await client.listTopicMessages({ id: topic, after: sequence - 1, limit: 1 }, { signal })).items.find((message) => message.sequenceNumber === sequence),
    [topic, sequence],
  );
  const message = listed ?? value;
  const fault = proof?.faults.find((other) => other.sequenceNumber === sequence);
  const sender = message && senders?.byAccount.get(message.payerAccountId);
  return (
    <section class="topic-detail" aria-label={`Message ${sequence}`}>
      <header class="view-head">
        <h2>Message {sequence}</h2>
        <VerdictMark verdict={judgeMessage(proof, sequence)} isWide />
        <span class="grow" />
        <button class="icon-button" aria-label="Close" title="Close (Escape)" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {message !== undefined ? (
        <MessageDetail message={message} fault={fault} sender={sender} kind={sender === undefined ? undefined : findEntity(sender)?.kind} />
      ) : error !== undefined ? (
        <Failure error={error} onRetry={reload} />
      ) : fault !== undefined ? (
        <Empty icon="alert" title={`Message ${sequence} is wrong`}>
          <p>{fault.reason}</p>
        </Empty>
      ) : (
        <Skeleton />
      )}
    </section>
  );
}

/** Return the address of a message; one that is far down has the messages around it beside it. */
function linkMessage(topic: string, sequence: number): string {
  const target = buildPath("ledger", topic, String(sequence));
  return sequence > PAGE_LENGTH ? `${target}?from=${sequence - 20}` : target;
}
