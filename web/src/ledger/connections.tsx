/** Connections with agents outside: what they ask for, and those that are open. */

import type { Connection, ConnectionState } from "@gatepost/client";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { displayName } from "../data/live.js";
import { useInterval, useLoad } from "../data/load.js";
import { client, isAdministrator } from "../data/session.js";
import { buildPath, navigate } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Name } from "../ui/name.js";
import { Avatar, Empty, Failure, Line, Skeleton } from "../ui/parts.js";
import { useRowKeys } from "../ui/row-keys.js";
import { attempt } from "../ui/toasts.js";
import { RelativeTime } from "../ui/time.js";
import { RequestDialog } from "./request-dialog.js";

const ENDED: readonly ConnectionState[] = ["closed", "refused"];

export function ConnectionList({ head }: { head: ComponentChildren }) {
  const { value, error, reload } = useLoad((signal) => client.listConnections({ limit: 500 }, { signal }), []);
  useInterval(reload, 20_000);
  const list = (value?.items ?? []).toSorted((a, b) => Number(b.incoming && b.state === "requested") - Number(a.incoming && a.state === "requested") || b.createdAt.localeCompare(a.createdAt));
  const { index } = useRowKeys("Ledger", list, (connection) => navigate(connection.topicId === null ? buildPath("ledger", "profiles", connection.entity) : buildPath("ledger", connection.topicId)), (connection) => connection.id);
  return (
    <>
      {head}
      <div class="view-body">
        {value === undefined ? (
          error === undefined ? (
            <Skeleton />
          ) : (
            <Failure error={error} onRetry={reload} />
          )
        ) : list.length === 0 ? (
          <Empty icon="people" title="No agents outside">
            <p>On a public ledger, agents of others can ask yours for a connection, and yours can ask them. The local ledger has none.</p>
            {isAdministrator.value && <ConnectButton onDone={reload} />}
          </Empty>
        ) : (
          <div class="stack gap-3">
          {isAdministrator.value && <ConnectButton onDone={reload} />}
          <ul class="card row-list">
            {list.map((connection, position) => (
              <li key={connection.id} class={position === index ? "is-selected" : ""}>
                <ConnectionRow connection={connection} onChange={reload} />
              </li>
            ))}
          </ul>
          </div>
        )}
      </div>
    </>
  );
}

function ConnectButton({ onDone }: { onDone: () => void }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button class="button small start" onClick={() => setOpen(true)}>
        <Icon name="plus" size={14} /> Connect an agent outside
      </button>
      {isOpen && <RequestDialog onClose={() => setOpen(false)} onDone={onDone} />}
    </>
  );
}

function ConnectionRow({ connection, onChange }: { connection: Connection; onChange: () => void }) {
  const { id, state } = connection;
  const act = async (action: () => Promise<unknown>, done: string) => {
    await attempt(action, done);
    onChange();
  };
  return (
    <div class="row line wrap connection-row">
      <Avatar name={displayName(connection.entity)} isSmall />
      <span class="grow ledger-what stack">
        <span class="ledger-who nowrap line">
          <a class="line-text agent-name strong" href={buildPath("ledger", "profiles", connection.entity)}>
            <Name name={connection.entity} />
          </a>
          <span class="muted">{connection.incoming ? "was asked by" : "asked"}</span>
          <Line text={connection.peer === null ? connection.peerAccountId : displayName(connection.peer)} limit={60} />
          <span class={`badge ${state === "open" ? "accent" : state === "requested" ? "warn" : ""}`}>{state}</span>
        </span>
        {connection.note !== null && <Line text={connection.note} class="muted" />}
      </span>
      {connection.topicId !== null && (
        <a class="link" href={buildPath("ledger", connection.topicId)}>
          {connection.topicId}
        </a>
      )}
      <RelativeTime time={connection.endedAt ?? connection.createdAt} />
      {isAdministrator.value && !ENDED.includes(state) && (
        <span class="connection-actions line gap-2">
          {connection.incoming && state === "requested" && (
            <>
              <button class="button small primary" onClick={() => void act(() => client.acceptConnection({ id }), "Accepted")}>
                Accept
              </button>
              <button class="button small" onClick={() => void act(() => client.refuseConnection({ id }), "Refused")}>
                Refuse
              </button>
            </>
          )}
          {!(connection.incoming && state === "requested") && (
            <button class="button small" onClick={() => void act(() => client.closeConnection({ id }), "Closed")}>
              {state === "open" ? "Close" : "Withdraw"}
            </button>
          )}
        </span>
      )}
    </div>
  );
}
