/** The members of a space: who is in it, who thinks, how far people have read. */

import { useState } from "preact/hooks";

import { addUniqueName, displayName, entities, isThinking } from "../data/live.js";
import { client, isAdministrator, me } from "../data/session.js";
import { loadMembers, loadSpaces, type SpaceEntry } from "../data/spaces.js";
import { buildPath, navigate } from "../router.js";
import { ConfirmDialog } from "../ui/confirm-dialog.js";
import { Icon } from "../ui/icons.js";
import { Name } from "../ui/name.js";
import { Avatar, Dots } from "../ui/parts.js";
import { plural, toLine } from "../ui/text.js";
import { attempt } from "../ui/toasts.js";

export function Members({ space, onClose }: { space: SpaceEntry; onClose: () => void }) {
  const [isLeaving, setLeaving] = useState(false);
  const names = new Set(space.members.map((member) => member.name));
  const others = entities.value.filter((entity) => !names.has(entity.name) && entity.kind !== "service");
  const add = async (name: string) => {
    await attempt(() => client.addMember({ id: space.id, name }));
    await loadMembers(space.id);
  };
  const remove = async (name: string) => {
    await attempt(() => client.removeMember({ id: space.id, name }), `${toLine(displayName(name), 60)} is not in the space any more`);
    await loadMembers(space.id);
  };
  const leave = async () => {
    await attempt(async () => {
      await client.removeMember({ id: space.id, name: me.value });
      navigate("/spaces"); // first: what is in the space is not for the person any more
      await loadSpaces();
    }, "You have left the space");
  };
  return (
    <aside class="members" aria-label="Members">
      <header class="view-head">
        <h2 class="grow">{plural(space.members.length, "member")}</h2>
        <button class="icon-button" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <ul class="member-list">
        {space.members.map((member) => {
          const behind = space.lastSeq - member.readSeq;
          return (
            <li key={member.name} class="member sm line gap-3">
              <Avatar name={member.displayName} kind={member.kind} isActive={isThinking(member.name)} />
              <div class="grow member-text stack">
                {member.kind === "agent" ? (
                  <a class="line-text" href={buildPath("agents", member.name)}>
                    <Name name={member.name} label={member.displayName} />
                  </a>
                ) : (
                  <Name name={member.name} label={member.displayName} />
                )}
                <span class="muted xs">
                  {isThinking(member.name) ? (
                    <>
                      thinking <Dots />
                    </>
                  ) : member.kind === "human" ? (
                    behind === 0 ? "has read everything" : `${plural(behind, "message")} unread`
                  ) : (
                    member.kind
                  )}
                </span>
              </div>
              {isAdministrator.value ? (
                <button class="icon-button member-remove" aria-label={`Remove ${toLine(addUniqueName(member.name, member.displayName), 40)}`} title="Remove" onClick={() => void remove(member.name)}>
                  <Icon name="close" size={13} />
                </button>
              ) : (
                member.name === me.value && (
                  <button class="icon-button member-remove" aria-label="Leave this space" title="Leave this space" onClick={() => setLeaving(true)}>
                    <Icon name="close" size={13} />
                  </button>
                )
              )}
            </li>
          );
        })}
      </ul>
      {isLeaving && (
        <ConfirmDialog title="Leave this space?" action="Leave" onClose={() => setLeaving(false)} onConfirm={leave}>
          You do not see its messages any more. Only the administrator can add you again.
        </ConfirmDialog>
      )}
      {isAdministrator.value && others.length > 0 && (
        <select class="field add-member" aria-label="Add a member" value="" onChange={(event) => void add(event.currentTarget.value)}>
          <option value="">Add a member …</option>
          {others.map((entity) => (
            <option key={entity.name} value={entity.name}>
              {toLine(displayName(entity.name), 80)}
            </option>
          ))}
        </select>
      )}
    </aside>
  );
}
