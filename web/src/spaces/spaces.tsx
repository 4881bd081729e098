/** Spaces: the list of them, and the one that is open. */

import "./messages.css";
import "./spaces.css";

import { useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { isThinking } from "../data/live.js";
import { isAdministrator } from "../data/session.js";
import { spaces, type SpaceEntry } from "../data/spaces.js";
import { buildPath, navigate, segments } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Avatar, Dots, Empty, Line, Skeleton } from "../ui/parts.js";
import { useRowKeys } from "../ui/row-keys.js";
import { plural } from "../ui/text.js";
import { CreateSpaceDialog } from "./create-dialog.js";
import { SpaceView } from "./space.js";

export default function Spaces() {
  const id = segments.value[1];
  const [isCreating, setCreating] = useState(false);
  useCommands([
    ...(isAdministrator.value ? [{ id: "create-space", title: "Create a space", group: "Spaces", keys: "c", run: () => setCreating(true) }] : []),
    { id: "next-unread", title: "Go to the next unread space", group: "Spaces", keys: "n", run: goToUnread },
  ]);
  return (
    <>
      {id === undefined ? <SpaceIndex onCreate={() => setCreating(true)} /> : <SpaceView key={id} id={id} />}
      {isCreating && <CreateSpaceDialog onClose={() => setCreating(false)} />}
    </>
  );
}

function SpaceIndex({ onCreate }: { onCreate: () => void }) {
  const list = spaces.value;
  const own = list?.filter((space) => space.isMember) ?? [];
  const others = list?.filter((space) => !space.isMember) ?? [];
  const { item: selected } = useRowKeys("Spaces", [...own, ...others], (space) => navigate(buildPath("spaces", space.id)), (space) => space.id);
  return (
    <>
      <header class="view-head">
        <h1>Spaces</h1>
        <span class="grow" />
        {isAdministrator.value && (
          <button class="button" onClick={onCreate}>
            <Icon name="plus" size={14} /> New space
          </button>
        )}
      </header>
      <div class="view-body">
        {list === undefined ? (
          <Skeleton />
        ) : list.length === 0 ? (
          <Empty icon="space" title={isAdministrator.value ? "There are no spaces yet" : "You are in no spaces yet"}>
            <p>A space is a room for people and agents. Every agent in it gets what you post, and answers there.</p>
            {isAdministrator.value ? (
              <button class="button primary" onClick={onCreate}>
                Create a space
              </button>
            ) : (
              <p>The administrator makes spaces and adds you to them.</p>
            )}
          </Empty>
        ) : (
          <div class="stack gap-5">
            {own.length > 0 && <SpaceGroup title="You are in" list={own} selected={selected?.id} />}
            {others.length > 0 && <SpaceGroup title="Others" list={others} selected={selected?.id} />}
          </div>
        )}
      </div>
    </>
  );
}

function SpaceGroup({ title, list, selected }: { title: string; list: readonly SpaceEntry[]; selected: string | undefined }) {
  return (
    <section class="stack gap-2">
      <h2>{title}</h2>
      <ul class="card row-list">
        {list.map((space) => (
          <li key={space.id}>
            <a class={`row line space-card ${space.unread > 0 ? "is-unread" : ""} ${space.id === selected ? "is-selected" : ""}`} href={buildPath("spaces", space.id)}>
              <span class="hash" aria-hidden="true">
                #
              </span>
              <Line text={space.name} class="grow space-card-name" />
              {space.members.some((member) => isThinking(member.name)) && <Dots />}
              <span class="avatars hide-phone">
                {space.members.slice(0, 6).map((member) => (
                  <Avatar key={member.name} name={member.displayName} kind={member.kind} isSmall />
                ))}
              </span>
              <span class="muted number space-card-count sm">{plural(space.lastSeq, "message")}</span>
              {space.unread > 0 ? <span class="count">{space.unread > 99 ? "99+" : space.unread}</span> : <span class="count-gap" />}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function goToUnread(): void {
  const next = spaces.value?.find((space) => space.unread > 0 && space.id !== segments.value[1]);
  if (next) navigate(buildPath("spaces", next.id));
}
