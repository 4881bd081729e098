/** Start a conversation: with whom the rules name, or with one agent. */

import type { Agent } from "@gatepost/client";
import { useState } from "preact/hooks";

import { FirstAgentButton } from "../agents/first-agent.js";
import { AgentBadge } from "../agents/state.js";
import { agents, displayName } from "../data/live.js";
import { isAdministrator } from "../data/session.js";
import { buildPath, navigate } from "../router.js";
import { focusNextComposer } from "../spaces/composer.js";
import { Dialog, DialogActions } from "../ui/dialog.js";
import { Icon } from "../ui/icons.js";
import { Name } from "../ui/name.js";
import { Avatar, Line } from "../ui/parts.js";
import { toLine } from "../ui/text.js";
import { buildSession, isSessionName, parseBase, toSessionName } from "./session-id.js";
import { sessions, writeRecipient } from "./sessions.js";

/** Return the agents that can be written to, those that answer by themselves first. */
export function listPartners(): readonly Agent[] {
  return agents()
    .value.agents.filter((agent) => agent.retiredAt === null)
    .toSorted((a, b) => Number(b.resident) - Number(a.resident) || a.displayName.localeCompare(b.displayName));
}

/** Open the conversation with an agent; without one, that with whom the rules name. */
export function openConversation(name: string | null, agent: string | null): void {
  const base = buildSession(name ?? undefined);
  writeRecipient(base, agent);
  const known = sessions.value?.find((session) => parseBase(session.id) === base);
  focusNextComposer(known?.id ?? base);
  navigate(buildPath("chat", known?.id ?? base));
}

export function Start() {
  const { runs, isLoading } = agents().value;
  const partners = listPartners();
  return (
    <div class="chat-start stack gap-2">
      <h2 class="chat-start-title">Choose whom to write to</h2>
      <p class="muted">Each conversation is a session of its own. Answers come here, and nobody else writes in it.</p>
      <ul class="partner-list card-grid gap-2">
        <li>
          <button class="card row partner line" onClick={() => openConversation(null, null)}>
            <span class="partner-icon">
              <Icon name="chat" />
            </span>
            <span class="partner-text stack grow">
              <span class="strong">Let the rules choose</span>
              <span class="muted xs">the routing rules say who answers</span>
            </span>
          </button>
        </li>
        {partners.map((agent) => (
          <li key={agent.name}>
            <button class="card row partner line" onClick={() => openConversation(agent.name, agent.name)}>
              <Avatar name={agent.displayName} isActive={runs[agent.name] !== undefined} />
              <span class="partner-text stack grow">
                <Name name={agent.name} label={agent.displayName} class="strong" />
                <Line text={[agent.team, agent.role].filter(Boolean).join(" · ") || `@${agent.name}`} limit={60} class="muted xs" />
              </span>
              <AgentBadge agent={agent} runId={runs[agent.name]} />
            </button>
          </li>
        ))}
      </ul>
      {partners.length === 0 && !isLoading && (
        <div class="chat-start-note stack gap-2">
          <p class="muted">There are no agents yet.</p>
          {isAdministrator.value && <FirstAgentButton />}
        </div>
      )}
    </div>
  );
}

export function NewDialog({ onClose }: { onClose: () => void }) {
  const [agent, setAgent] = useState("");
  const [name, setName] = useState("");
  const [isTyped, setTyped] = useState(false);
  const shown = isTyped ? name : suggestName(agent);
  const isValid = shown === "" ? sessions.value?.some((session) => parseBase(session.id) === buildSession()) !== true : isSessionName(shown);
  const isTaken = sessions.value?.some((session) => parseBase(session.id) === buildSession(shown)) === true;
  const create = () => {
    openConversation(shown === "" ? null : shown, agent === "" ? null : agent);
    onClose();
  };
  return (
    <Dialog title="New conversation" onClose={onClose}>
      <form class="dialog-body stack gap-3" onSubmit={(event) => (event.preventDefault(), create())}>
        <label class="label">
          With
          <select class="field" value={agent} autoFocus onChange={(event) => setAgent(event.currentTarget.value)}>
            <option value="">whom the rules choose</option>
            {listPartners().map((partner) => (
              <option key={partner.name} value={partner.name}>
                {toLine(displayName(partner.name), 60)}
              </option>
            ))}
          </select>
        </label>
        <label class="label">
          Name
          <input
            class="field"
            value={shown}
            maxLength={63}
            spellcheck={false}
            autocomplete="off"
            placeholder="travel"
            onInput={(event) => {
              setTyped(true);
              setName(event.currentTarget.value.toLowerCase().replace(/\s/g, "-"));
            }}
          />
        </label>
        <p class="muted xs" role="status">
          {isTaken ? "You have a conversation with this name. It is opened." : isValid ? "Small letters, digits, dots and dashes." : "A name has small letters, digits, dots and dashes, and begins with a letter or a digit."}
        </p>
        <DialogActions action={isTaken ? "Open" : "Start"} isDisabled={!isValid} onCancel={onClose} />
      </form>
    </Dialog>
  );
}

/** Return a name that no conversation has yet: that of the agent, or the date. */
function suggestName(agent: string): string {
  const stem = toSessionName(agent) || new Date().toLocaleDateString("en-CA");
  const taken = new Set(sessions.value?.map((session) => parseBase(session.id)));
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? stem : `${stem}-${number}`;
    if (!taken.has(buildSession(name))) return name;
  }
}
