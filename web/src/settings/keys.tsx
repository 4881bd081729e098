/** Keys and signed-in browsers: made, shown once, and revoked. */

import type { Key, NewKey } from "@gatepost/client";
import { useState } from "preact/hooks";

import { AddressField } from "../agents/address-field.js";
import { displayName } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client, me } from "../data/session.js";
import { ConfirmDialog } from "../ui/confirm-dialog.js";
import { Dialog, DialogActions } from "../ui/dialog.js";
import { Icon } from "../ui/icons.js";
import { Failure, Line, Skeleton } from "../ui/parts.js";
import { SecretDialog } from "../ui/secret-dialog.js";
import { useSubmission } from "../ui/submission.js";
import { toLine } from "../ui/text.js";
import { RelativeTime } from "../ui/time.js";
import { attempt } from "../ui/toasts.js";
import { Part } from "./part.js";

export function Keys() {
  const { value, error, reload } = useLoad((signal) => client.listKeys({ limit: 1000 }, { signal }), []);
  const [revoked, setRevoked] = useState<Key | undefined>(undefined);
  const [isAdding, setAdding] = useState(false);
  if (value === undefined) return error === undefined ? <Skeleton rows={4} /> : <Failure error={error} onRetry={reload} />;
  const live = value.items.filter((key) => key.revokedAt === null).toReversed();
  const browsers = live.filter((key) => key.expiresAt !== undefined);
  const keys = live.filter((key) => key.expiresAt === undefined);
  return (
    <>
      <Part title="Keys" command="gatepost key list">
        <KeyList keys={keys} onRevoke={setRevoked} action="Revoke" />
        <button class="button small start" onClick={() => setAdding(true)}>
          <Icon name="plus" size={14} /> New key
        </button>
      </Part>
      <Part title="Signed-in browsers" command="gatepost key revoke ID">
        <KeyList keys={browsers} onRevoke={setRevoked} action="Sign out" />
      </Part>
      {isAdding && <KeyDialog onClose={() => (setAdding(false), reload())} />}
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
            <Line text={key.expiresAt === undefined ? key.name : describeBrowser(key.name)} limit={80} class="muted hide-phone" />
          </span>
          <span class="muted">
            <RelativeTime hasAgo time={key.createdAt} />
          </span>
          <button class="button small danger" aria-label={`${action}: ${key.prefix}`} onClick={() => onRevoke(key)}>
            {action}
          </button>
        </li>
      ))}
    </ul>
  );
}

const BROWSERS = { "Edg": "Edge", "OPR": "Opera", "Firefox|FxiOS": "Firefox", "Chrome|CriOS": "Chrome", "Safari": "Safari" };
const SYSTEMS = { "Android": "Android", "iPhone|iPad": "iOS", "Windows": "Windows", "Macintosh": "macOS", "CrOS": "ChromeOS", "Linux": "Linux" };

/** Return the browser and the system that a User-Agent names, such as "Firefox on Linux"; else the text itself. */
function describeBrowser(userAgent: string): string {
  const find = (names: Readonly<Record<string, string>>) => Object.entries(names).find(([pattern]) => new RegExp(pattern).test(userAgent))?.[1];
  const [browser, system] = [find(BROWSERS), find(SYSTEMS)];
  return system === undefined ? (browser ?? userAgent) : `${browser ?? "A browser"} on ${system}`;
}

function describeHolder({ entity, trigger, kind }: Key): string {
  if (entity !== null) return entity === me.value ? `${displayName(entity)} (you)` : displayName(entity);
  if (trigger !== null) return `triggers ${trigger}`;
  return kind === "admin" ? "administrator" : kind;
}

/** The key of one agent or person. It is shown once, when it was made. */
function KeyDialog({ onClose }: { onClose: () => void }) {
  const [agent, setAgent] = useState("");
  const [made, setMade] = useState<NewKey | undefined>(undefined);
  const { isBusy, submit } = useSubmission();
  if (made !== undefined) return <SecretDialog title="The new key" texts={{ Key: made.key }} note="It acts as this entity only. Nobody can see it again: copy it now." onClose={onClose} />;
  const save = (form: HTMLFormElement) =>
    submit(() =>
      attempt(async () => {
        const name = String(new FormData(form).get("name") ?? "").trim();
        setMade(await client.createKey({ agent: agent.trim(), name }));
      }),
    );
  return (
    <Dialog title="New key" onClose={onClose}>
      <form class="dialog-body stack gap-3" onSubmit={(event) => (event.preventDefault(), void save(event.currentTarget))}>
        <AddressField label="Whose key" value={agent} onInput={setAgent} />
        <label class="label">
          What it is for
          <input class="field" name="name" maxLength={200} autoComplete="off" placeholder="laptop" />
        </label>
        <DialogActions action="Make the key" isDisabled={isBusy || agent.trim() === ""} onCancel={onClose} />
      </form>
    </Dialog>
  );
}
