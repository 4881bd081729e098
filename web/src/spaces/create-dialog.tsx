/** Create a space with its members. */

import { useState } from "preact/hooks";

import { entities } from "../data/live.js";
import { client, me } from "../data/session.js";
import { loadSpaces } from "../data/spaces.js";
import { dropKeys } from "../early-keys.js";
import { buildPath, navigate } from "../router.js";
import { Dialog, DialogActions } from "../ui/dialog.js";
import { Name } from "../ui/name.js";
import { Avatar } from "../ui/parts.js";
import { useSubmission } from "../ui/submission.js";
import { attempt } from "../ui/toasts.js";
import { focusNextComposer } from "./composer.js";

export function CreateSpaceDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [members, setMembers] = useState<ReadonlySet<string>>(new Set([me.value]));
  const toggle = (member: string) => {
    const next = new Set(members);
    if (!next.delete(member)) next.add(member);
    setMembers(next);
  };
  const { isBusy, submit } = useSubmission();
  const create = () =>
    submit(() =>
      attempt(async () => {
        const space = await client.createSpace({ name, members: [...members] });
        await loadSpaces();
        if (members.has(me.value)) focusNextComposer(space.id);
        else dropKeys();
        navigate(buildPath("spaces", space.id));
        onClose();
      }),
    );
  return (
    <Dialog title="New space" onClose={onClose}>
      <form class="dialog-body stack gap-3" onSubmit={(event) => (event.preventDefault(), void create())}>
        <label class="label">
          Name
          <input class="field" value={name} required maxLength={120} autoFocus onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <fieldset class="choices">
          <legend>Members</legend>
          {entities.value
            .filter((entity) => entity.kind !== "service")
            .map((entity) => (
              <label key={entity.name} class="choice sm line gap-2">
                <input type="checkbox" checked={members.has(entity.name)} onChange={() => toggle(entity.name)} />
                <Avatar name={entity.displayName} kind={entity.kind} isSmall />
                <Name name={entity.name} />
              </label>
            ))}
        </fieldset>
        <DialogActions action="Create" isDisabled={isBusy || name.trim() === ""} onCancel={onClose} />
      </form>
    </Dialog>
  );
}
