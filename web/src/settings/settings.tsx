/** Settings: who may use this gateway, and what its agents think with. Each part names its command. */

import type { Key } from "@gatepost/client";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { listLacks } from "../agents/agent-fields.js";
import { useCommands } from "../commands.js";
import { BudgetList } from "../cost/budgets.js";
import { displayName, loadEntities, people } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client, me } from "../data/session.js";
import { buildPath } from "../router.js";
import { ConfirmDialog } from "../ui/confirm-dialog.js";
import { Dialog, DialogActions } from "../ui/dialog.js";
import { Icon } from "../ui/icons.js";
import { Name } from "../ui/name.js";
import { Avatar, Failure, Line, Skeleton } from "../ui/parts.js";
import { useSubmission } from "../ui/submission.js";
import { toLine } from "../ui/text.js";
import { RelativeTime } from "../ui/time.js";
import { attempt } from "../ui/toasts.js";
import "../cost/cost.css";

export default function Settings() {
  const [isAdding, setAdding] = useState(false);
  useCommands([{ id: "new-person", title: "Add a person", group: "Settings", keys: "c", run: () => setAdding(true) }]);
  return (
    <>
      <header class="view-head">
        <h1>Settings</h1>
        <span class="grow" />
        <button class="button primary" title="Add a person (c)" onClick={() => setAdding(true)}>
          <Icon name="plus" size={14} /> Add a person
        </button>
      </header>
      <div class="view-body stack gap-5">
        <Part title="People" command="gatepost person list">
          <People />
        </Part>
        <Keys />
        <Part title="Models" command="gatepost doctor">
          <Models />
        </Part>
        <Part title="Budgets" command="gatepost agent budgets">
          <BudgetList agent={undefined} />
        </Part>
        <Part title="All settings" command="gatepost config show">
          <p class="card pad sm muted">
            What else can be set, such as how long items are kept (<code>inbox.remember</code>) and what is sent to the chats of people (<code>channel.notify</code>), is in <code>gatepost.toml</code>, and counts when the gateway starts again. Channels and triggers are in their own views.
          </p>
        </Part>
      </div>
      {isAdding && <PersonDialog onClose={() => setAdding(false)} />}
    </>
  );
}

/** A part of the settings, and the command that does the same at a terminal. */
function Part({ title, command, children }: { title: string; command: string; children: ComponentChildren }) {
  return (
    <section class="stack gap-2" aria-label={title}>
      <div class="section-head">
        <h2 class="grow">{title}</h2>
        <code class="xs muted">{command}</code>
      </div>
      {children}
    </section>
  );
}

function People() {
  return (
    <ul class="card row-list">
      {people.value.map(({ name, displayName: label, createdAt }) => (
        <li key={name} class="row line">
          <Avatar name={label} kind="human" isSmall />
          <Name name={name} label={label} class="strong grow" />
          <Line text={`@${name}`} limit={60} class="muted" />
          <span class="muted hide-phone">
            <RelativeTime time={createdAt} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function PersonDialog({ onClose }: { onClose: () => void }) {
  const { isBusy, submit } = useSubmission();
  const save = (form: HTMLFormElement) => {
    const data = new FormData(form);
    const read = (name: string) => String(data.get(name) ?? "").trim();
    return submit(async () => {
      const isAdded = await attempt(async () => {
        await client.registerEntity({ name: read("name"), kind: "human", displayName: read("displayName") || null });
        await loadEntities();
      }, "Person added");
      if (isAdded) onClose();
      return isAdded;
    });
  };
  return (
    <Dialog title="Add a person" onClose={onClose}>
      <form class="dialog-body stack gap-3" onSubmit={(event) => (event.preventDefault(), void save(event.currentTarget))}>
        <label class="label">
          Name
          <input class="field" name="name" required autoFocus maxLength={63} autoComplete="off" spellcheck={false} placeholder="husam" />
        </label>
        <label class="label">
          Name to show
          <input class="field" name="displayName" autoComplete="off" />
        </label>
        <p class="field-note">
          They sign in by a link: <code>gatepost sign-in --as NAME</code>
        </p>
        <DialogActions action="Add the person" isDisabled={isBusy} onCancel={onClose} />
      </form>
    </Dialog>
  );
}

/** Keys and signed-in browsers, which can be revoked. Their secrets are shown nowhere. */
function Keys() {
  const { value, error, reload } = useLoad((signal) => client.listKeys({ limit: 1000 }, { signal }), []);
  const [revoked, setRevoked] = useState<Key | undefined>(undefined);
  if (value === undefined) return error === undefined ? <Skeleton rows={4} /> : <Failure error={error} onRetry={reload} />;
  const live = value.items.filter((key) => key.revokedAt === null).toReversed();
  const browsers = live.filter((key) => key.expiresAt !== undefined);
  const keys = live.filter((key) => key.expiresAt === undefined);
  return (
    <>
      <Part title="Keys" command="gatepost key list">
        <KeyList keys={keys} onRevoke={setRevoked} action="Revoke" />
      </Part>
      <Part title="Signed-in browsers" command="gatepost key revoke ID">
        <KeyList keys={browsers} onRevoke={setRevoked} action="Sign out" />
      </Part>
      {revoked && (
        <ConfirmDialog
          title={`Revoke ${toLine(revoked.prefix, 40)}?`}
          action="Revoke"
          onClose={() => setRevoked(undefined)}
          onConfirm={async () => {
            await attempt(() => client.revokeKey({ id: revoked.id }), "Revoked");
            reload();
          }}
        >
          Whoever has it is refused from now on. This cannot be undone.
        </ConfirmDialog>
      )}
    </>
  );
}

function KeyList({ keys, onRevoke, action }: { keys: readonly Key[]; onRevoke: (key: Key) => void; action: string }) {
  if (keys.length === 0) return <p class="card pad sm muted">None.</p>;
  return (
    <ul class="card row-list">
      {keys.map((key) => (
        <li key={key.id} class="row line">
          <code>{key.prefix}</code>
          <span class="line grow gap-2">
            <Line text={describeHolder(key)} limit={60} class="strong" />
            <Line text={key.name} limit={80} class="muted hide-phone" />
          </span>
          <span class="muted">
            <RelativeTime time={key.createdAt} />
          </span>
          <button class="button small danger" aria-label={`${action}: ${key.prefix}`} onClick={() => onRevoke(key)}>
            {action}
          </button>
        </li>
      ))}
    </ul>
  );
}

function describeHolder({ entity, trigger, kind }: Key): string {
  if (entity !== null) return entity === me.value ? `${displayName(entity)} (you)` : displayName(entity);
  if (trigger !== null) return `triggers ${trigger}`;
  return kind === "admin" ? "administrator" : kind;
}

/** Providers, and the models that agents have. A key is never shown, only whether there is one. */
function Models() {
  const { value, error, reload } = useLoad((signal) => client.showModels({}, { signal }), []);
  if (value === undefined) return error === undefined ? <Skeleton rows={4} /> : <Failure error={error} onRetry={reload} />;
  return (
    <ul class="card row-list">
      {value.providers.map((provider) => (
        <li key={provider.name} class="row line wrap">
          <span class="strong">{provider.name}</span>
          <span class="grow muted">{provider.keyVariable === null ? "needs no key" : <code>{provider.keyVariable}</code>}</span>
          {!provider.libraryInstalled && <code class="xs">{provider.install}</code>}
          <span class={`badge ${listLacks(provider) === "" ? "accent" : "warn"}`}>{listLacks(provider) || "ready"}</span>
        </li>
      ))}
      {value.inUse.map(({ name, agents, problem }, index) => (
        <li key={`${name}-${index}`} class="row line wrap">
          <Line text={name} limit={80} class="strong" />
          <span class="line wrap grow gap-2 muted">
            {agents.slice(0, 8).map((agent) => (
              <a key={agent} class="link" href={buildPath("agents", agent)}>
                <Line text={displayName(agent)} limit={40} />
              </a>
            ))}
            {agents.length > 8 && <span>and {agents.length - 8} more</span>}
          </span>
          {problem && <span class="warn-text text">{problem.message}</span>}
        </li>
      ))}
    </ul>
  );
}
