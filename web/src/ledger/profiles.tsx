/** Profiles: who is on the ledger, with which account and topics, and what others can read about them. */

import type { Entity, LedgerProfile } from "@gatepost/client";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { entities } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client, isAdministrator } from "../data/session.js";
import { buildPath, navigate, segments } from "../router.js";
import { Icon } from "../ui/icons.js";
import { PlainText } from "../ui/markdown.js";
import { Name } from "../ui/name.js";
import { Avatar, Empty, Line, Skeleton } from "../ui/parts.js";
import { describeError, formatJson, plural, toLine } from "../ui/text.js";
import { attempt, showToast } from "../ui/toasts.js";

export function ProfileList({ head }: { head: ComponentChildren }) {
  const openName = segments.value[2];
  const [version, setVersion] = useState(0);
  const list = entities.value.filter((entity) => entity.kind !== "service");
  const openIndex = list.findIndex((entity) => entity.name === openName);
  const [cursor, setCursor] = useState(-1);
  const index = openIndex >= 0 ? openIndex : Math.min(cursor, list.length - 1);
  const open = (entity: Entity | undefined) => entity && navigate(buildPath("ledger", "profiles", entity.name), { replace: openName !== undefined });
  const select = (next: number) => {
    const position = Math.max(0, Math.min(list.length - 1, next));
    setCursor(position);
    if (openName !== undefined) open(list[position]);
  };
  const sync = async () => {
    let [made, jobs] = [0, 0];
    const isDone = await attempt(async () => {
      for (let after: number | null = 0; after !== null; ) {
        const page: Awaited<ReturnType<typeof client.syncLedger>> = await client.syncLedger({ after });
        made += page.profiles;
        jobs += page.jobs;
        after = page.next;
      }
    });
    if (isDone) showToast(jobs > 0 ? `${plural(jobs, "job")} left to the gateway` : made === 0 ? "All profiles are up to date" : `${plural(made, "profile")} published`);
    setVersion(version + 1);
  };
  useCommands([
    { id: "next", title: "Next profile", group: "Ledger", keys: "j", run: () => select(index + 1), isKeyOnly: true },
    { id: "previous", title: "Previous profile", group: "Ledger", keys: "k", run: () => select(index - 1), isKeyOnly: true },
    { id: "open-profile", title: "Open the selected profile", group: "Ledger", keys: "Enter", run: () => open(list[index]), isKeyOnly: true },
    { id: "close-profile", title: "Back", group: "Ledger", keys: "Escape", run: () => navigate(openName === undefined ? "/ledger" : "/ledger/profiles"), isKeyOnly: true },
    ...(isAdministrator.value ? [{ id: "sync", title: "Publish profiles that have changed", group: "Ledger", keys: "p", run: () => void sync() }] : []),
  ]);
  return (
    <>
      {head}
      <div class="view-body">
        <div class="profile-head line gap-3 sm">
          <p class="muted grow hide-phone">Everybody who may see the ledger may read these. A name or a capability that changes needs to be published again.</p>
          {isAdministrator.value && (
            <button class="button small" title="Publish (p)" onClick={() => void sync()}>
              <Icon name="send" size={13} /> Publish changes
            </button>
          )}
        </div>
        {list.length === 0 ? (
          <Skeleton />
        ) : (
          <ul class="card row-list">
            {list.map((entity, position) => (
              <li key={entity.name}>
                <button class={`row line quiet-icon ${position === index ? "is-selected" : ""}`} aria-expanded={entity.name === openName} onClick={() => (entity.name === openName ? navigate("/ledger/profiles", { replace: true }) : open(entity))}>
                  <Avatar name={entity.displayName} kind={entity.kind} isSmall />
                  <Name name={entity.name} label={entity.displayName} limit={80} class="agent-name strong" />
                  <Line text={entity.name} class="muted grow" />
                  <span class="muted">{entity.kind === "human" ? "person" : entity.kind}</span>
                  <Icon name={entity.name === openName ? "down" : "chevron"} size={14} />
                </button>
                {entity.name === openName && <Profile key={`${entity.name} ${version}`} name={entity.name} />}
              </li>
            ))}
          </ul>
        )}
      </div>
    </>
  );
}

function Profile({ name }: { name: string }) {
  const { value, error } = useLoad((signal) => client.showLedgerProfile({ name }, { signal }), [name]);
  if (error !== undefined) {
    return (
      <Empty icon="ledger" title="Not on the ledger">
        <p class="text">{describeError(error)}</p>
      </Empty>
    );
  }
  if (value === undefined) return <Skeleton rows={5} />;
  return <ProfileFacts view={value} />;
}

function ProfileFacts({ view }: { view: LedgerProfile }) {
  const profile = view.profile ?? {};
  const uaid = typeof profile.uaid === "string" ? profile.uaid : undefined;
  return (
    <div class="row-more stack gap-3">
      <dl class="facts">
        <dt>Published</dt>
        <dd>{view.published ? <span class="badge accent">yes</span> : <span class="badge warn">no: it has changed since</span>}</dd>
        <dt>Network</dt>
        <dd>{view.network}</dd>
        <dt>Account</dt>
        <dd>
          <code>{view.accountId}</code>
        </dd>
        <dt>Mail</dt>
        <dd>
          <a class="link" href={buildPath("ledger", view.inboundTopicId)}>
            {view.inboundTopicId}
          </a>
        </dd>
        <dt>Log</dt>
        <dd>
          <a class="link" href={buildPath("ledger", view.outboundTopicId)}>
            {view.outboundTopicId}
          </a>
        </dd>
        {view.fileId !== null && <dt>File</dt>}
        {view.fileId !== null && (
          <dd>
            <a class="link" href={buildPath("ledger", view.fileId)}>
              {view.fileId}
            </a>
          </dd>
        )}
        {uaid !== undefined && <dt>UAID</dt>}
        {uaid !== undefined && (
          <dd>
            <code class="text">{toLine(uaid, 400)}</code>
          </dd>
        )}
      </dl>
      {view.profile !== null && (
        <details class="fold">
          <summary>The profile as others read it</summary>
          <PlainText text={formatJson(view.profile)} />
        </details>
      )}
    </div>
  );
}
