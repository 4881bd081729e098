/** The people of this gateway: added, renamed, signed in by a link, and retired. */

import type { Entity, SignInLink } from "@gatepost/client";
import { useState } from "preact/hooks";

import { loadEntities, people } from "../data/live.js";
import { client, me } from "../data/session.js";
import { ConfirmDialog } from "../ui/confirm-dialog.js";
import { Dialog, DialogActions } from "../ui/dialog.js";
import { Name } from "../ui/name.js";
import { Avatar, Line } from "../ui/parts.js";
import { SecretDialog } from "../ui/secret-dialog.js";
import { useSubmission } from "../ui/submission.js";
import { toLine } from "../ui/text.js";
import { RelativeTime } from "../ui/time.js";
import { attempt } from "../ui/toasts.js";
import { Part } from "./part.js";

export function People() {
  const [changed, setChanged] = useState<Entity | undefined>(undefined);
  const [retired, setRetired] = useState<Entity | undefined>(undefined);
  const [link, setLink] = useState<SignInLink | undefined>(undefined);
  const makeLink = (name: string) => attempt(async () => setLink(await client.createSignInLink({ name })));
  return (
    <Part title="People" command="gatepost person list">
      <ul class="card row-list">
        {people.value.map((person) => (
          <li key={person.name} class="row line wrap">
            <span class="line grow gap-2 person-name">
              <Avatar name={person.displayName} kind="human" isSmall />
              <Name name={person.name} label={person.displayName} class="strong" />
              <Line text={`@${person.name}`} limit={60} class="muted" />
            </span>
            <span class="muted hide-phone">
              <RelativeTime hasAgo time={person.createdAt} />
            </span>
            <span class="line gap-2">
              <button class="button small" title="A link that signs them in, once" onClick={() => void makeLink(person.name)}>
                Sign-in link
              </button>
              <button class="button small" onClick={() => setChanged(person)}>
                Rename
              </button>
              {person.name !== "admin" && (
                <button class="button small danger" aria-label={`Retire: ${toLine(person.name, 60)}`} onClick={() => setRetired(person)}>
                  Retire
                </button>
              )}
            </span>
          </li>
        ))}
      </ul>
      {changed && <PersonDialog person={changed} onClose={() => setChanged(undefined)} />}
      {link && <SecretDialog title={`Sign ${toLine(link.name, 40)} in`} texts={{ Link: `${location.origin}${link.path}` }} note="It works once, within ten minutes. Whoever opens it is that person on this page." onClose={() => setLink(undefined)} />}
      {retired && (
        <ConfirmDialog
          title={`Retire ${toLine(retired.displayName, 40)}?`}
          action="Retire"
          onClose={() => setRetired(undefined)}
          onConfirm={async () => {
            await attempt(() => client.retireEntity({ name: retired.name }), "Person retired");
            await loadEntities();
          }}
        >
          {retired.name === me.value ? "This is you: you are signed out. " : ""}They receive nothing more, and are signed out. What they wrote and did stays.
        </ConfirmDialog>
      )}
    </Part>
  );
}

/** Add a person, or give one another name to show. */
export function PersonDialog({ person, onClose }: { person?: Entity; onClose: () => void }) {
  const { isBusy, submit } = useSubmission();
  const save = (form: HTMLFormElement) => {
    const data = new FormData(form);
    const read = (name: string) => String(data.get(name) ?? "").trim();
    return submit(async () => {
      const isAdded = await attempt(async () => {
        const label = read("displayName") || null;
        if (person === undefined) await client.registerEntity({ name: read("name"), kind: "human", displayName: label });
        else await client.changeEntity({ name: person.name, displayName: label });
        await loadEntities();
      }, person === undefined ? "Person added" : "Person renamed");
      if (isAdded) onClose();
      return isAdded;
    });
  };
  return (
    <Dialog title={person === undefined ? "Add a person" : `Rename ${toLine(person.displayName, 40)}`} onClose={onClose}>
      <form class="dialog-body stack gap-3" onSubmit={(event) => (event.preventDefault(), void save(event.currentTarget))}>
        {person === undefined && (
          <label class="label">
            Name
            <input class="field" name="name" required autoFocus maxLength={63} autoComplete="off" spellcheck={false} placeholder="husam" />
          </label>
        )}
        <label class="label">
          Name to show
          <input class="field" name="displayName" autoFocus={person !== undefined} defaultValue={person?.displayName ?? ""} autoComplete="off" />
        </label>
        {person === undefined && <p class="field-note">They sign in by a link, which you make in the list of people.</p>}
        <DialogActions action={person === undefined ? "Add the person" : "Rename"} isDisabled={isBusy} onCancel={onClose} />
      </form>
    </Dialog>
  );
}
