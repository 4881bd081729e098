/** Notifications: what reaches people outside this page, and where. */

import type { Entity } from "@gatepost/client";
import { useState } from "preact/hooks";

import { AttentionBadge, AttentionDialog } from "../agents/attention.js";
import { people } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { Name } from "../ui/name.js";
import { Avatar, Failure, Line, Skeleton } from "../ui/parts.js";
import { toLine } from "../ui/text.js";
import { Part } from "./part.js";
import { SettingRows, useSettings } from "./values.js";

const NAMES = ["channel.notify", "wake.patience"];

export function Notifications() {
  const { value: pairings, error, reload } = useLoad((signal) => client.listPairings({ limit: 1000 }, { signal }), []);
  const { value } = useSettings();
  const [changed, setChanged] = useState<Entity | undefined>(undefined);
  if (pairings === undefined || value === undefined) return error === undefined ? <Skeleton /> : <Failure error={error} onRetry={reload} />;
  const level = value.settings.find(({ name }) => name === "channel.notify")?.value ?? "high";
  return (
    <>
      <p class="sm soft">
        Everything is in the inbox of a person. To a paired chat go replies, questions, and items that are <strong>{level}</strong> or more urgent.
      </p>
      <Part title="Chats of people" command="gatepost channel list">
        <ul class="card row-list">
          {people.value.map((person) => {
            const { name, displayName: label } = person;
            const chats = pairings.items.filter(({ state, person }) => state === "approved" && person === name);
            return (
              <li key={name} class="row line wrap">
                <Avatar name={label} kind="human" isSmall />
                <Name name={name} label={label} class="strong grow" />
                {person.attention && <AttentionBadge attention={person.attention} />}
                {chats.length === 0 && <span class="muted">only on this page</span>}
                {chats.map((chat) => (
                  <a key={chat.id} class="badge accent" href="/channels/pairing?state=approved">
                    <Line text={`${chat.trigger}: ${chat.userName}`} limit={60} />
                  </a>
                ))}
                <button class="button small" aria-label={`Change what may disturb ${toLine(label, 60)}`} onClick={() => setChanged(person)}>
                  Change
                </button>
              </li>
            );
          })}
        </ul>
        <a class="button small start" href="/channels/pairing">
          Let a chat in
        </a>
      </Part>
      {changed && <AttentionDialog entity={changed} onClose={() => setChanged(undefined)} />}
      <Part title="What is sent" command="gatepost config show">
        <SettingRows settings={value.settings.filter(({ name }) => NAMES.includes(name))} />
      </Part>
    </>
  );
}
