/**
 * Connect an agent program: the one command to run, and then whether it has come. A program that is not set up by a command
 * gets what it needs: the MCP server, or a key.
 */

import type { Agent, AgentSetup } from "@gatepost/client";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { agentsStore, loadEntities } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { buildPath, navigate } from "../router.js";
import { CopyButton } from "../ui/copy-button.js";
import { Dialog, DialogActions } from "../ui/dialog.js";
import { focusOnMount } from "../ui/focus.js";
import { Dots, Failure, Line, Skeleton } from "../ui/parts.js";
import { useSubmission } from "../ui/submission.js";
import { formatJson, toLine } from "../ui/text.js";
import { now } from "../ui/time.js";
import { attempt } from "../ui/toasts.js";
import { describeProgram, useSessions } from "./guest.js";
import { Reached } from "./reachability.js";

type Way = "mcp" | "own" | string;

interface ConnectDialogProps {
  /** The agent that the program is to be; without one it is registered first. */
  agent?: Agent;
  onClose: () => void;
}

export function ConnectDialog({ agent, onClose }: ConnectDialogProps) {
  const [name, setName] = useState(agent?.name);
  return (
    <Dialog title={name === undefined ? "Connect an agent program" : `Connect a program as ${toLine(name, 40)}`} onClose={onClose}>
      {name === undefined ? <NameForm onDone={setName} onClose={onClose} /> : <Connect name={name} onClose={onClose} />}
    </Dialog>
  );
}

/** The name of the agent that the program will be; one that is there already is taken. */
function NameForm({ onDone, onClose }: { onDone: (name: string) => void; onClose: () => void }) {
  const [name, setName] = useState("");
  const guests = agentsStore.state.agents.filter((agent) => !agent.resident && agent.retiredAt === null);
  const { isBusy, submit } = useSubmission();
  const save = () =>
    submit(() =>
      attempt(async () => {
        if (!guests.some((agent) => agent.name === name)) {
          await client.registerAgent({ name });
          await Promise.all([agentsStore.refresh(), loadEntities()]);
        }
        onDone(name);
      }),
    );
  return (
    <form class="dialog-body stack gap-3" onSubmit={(event) => (event.preventDefault(), void save())}>
      <label class="label">
        Name of its agent
        <input class="field" name="name" value={name} required autoFocus maxLength={63} list="guests" placeholder="claude" autoComplete="off" spellcheck={false} onInput={(event) => setName(event.currentTarget.value.trim())} />
        <datalist id="guests">
          {guests.map((agent) => (
            <option key={agent.name} value={agent.name} />
          ))}
        </datalist>
      </label>
      <p class="field-note">Others write to it by this name. Its inbox is shown in the program, and its program may not stop while a gate is closed.</p>
      <DialogActions action="Next" isDisabled={isBusy || name === ""} onCancel={onClose} />
    </form>
  );
}

function Connect({ name, onClose }: { name: string; onClose: () => void }) {
  const { value: setup, error, reload } = useLoad((signal) => client.showAgentSetup({ name }, { signal }), [name]);
  const [way, setWay] = useState<Way>("claude");
  if (setup === undefined) return <div class="dialog-body">{error === undefined ? <Skeleton rows={3} /> : <Failure error={error} onRetry={reload} />}</div>;
  const command = setup.commands.find(({ host }) => host === way);
  const close = () => {
    onClose();
    navigate(buildPath("agents", name));
  };
  return (
    <div class="dialog-body stack gap-3">
      <label class="label">
        Program
        <select class="field" name="way" value={way} ref={focusOnMount} onChange={(event) => setWay(event.currentTarget.value)}>
          {setup.commands.map(({ host, title }) => (
            <option key={host} value={host}>
              {title}
            </option>
          ))}
          <option value="mcp">Any other client of MCP</option>
          <option value="own">Your own program, over HTTP</option>
        </select>
      </label>
      {command !== undefined ? <ByCommand command={command.command} title={command.title} /> : way === "mcp" ? <ByMcp setup={setup} /> : <ByKey name={name} />}
      {way !== "own" && <Arrival name={name} host={way} />}
      <div class="line end gap-2">
        <button class="button primary" onClick={close}>
          Done
        </button>
      </div>
    </div>
  );
}

function ByCommand({ command, title }: { command: string; title: string }) {
  return (
    <Copied label={`Run this in a terminal of the machine where the gateway runs, and start ${title} again`} text={command}>
      It writes the hooks and the MCP server into the settings of {title}, and nothing else. <code>--uninstall</code> takes them out.
    </Copied>
  );
}

function ByMcp({ setup }: { setup: AgentSetup }) {
  const [command = "", ...args] = setup.mcpCommand;
  const hasEnv = Object.keys(setup.mcpEnv).length > 0;
  const server = { command, args, ...(hasEnv ? { env: setup.mcpEnv } : {}) };
  return <Copied label="Put this server into the settings of the client" text={formatJson({ mcpServers: { gatepost: server } })} />;
}

/** A key of its own, shown once. */
function ByKey({ name }: { name: string }) {
  const [key, setKey] = useState<string | undefined>(undefined);
  const { isBusy, submit } = useSubmission({ isKept: true });
  const create = () => submit(() => attempt(async () => setKey((await client.createKey({ agent: name, name: "own program" })).key)));
  if (key === undefined) {
    return (
      <div class="stack gap-2">
        <p class="sm">The program needs a key, which acts as this agent alone. It is shown once.</p>
        <button class="button start" disabled={isBusy} onClick={() => void create()}>
          Make a key
        </button>
      </div>
    );
  }
  const request = `curl -X POST ${location.origin}/api/inbox/${name}/drain -H 'x-secret-key: ${key}' -H 'content-type: application/json' -d '{"wait": 30}'`;
  return (
    <Copied label="This takes the pending items, or waits for one" text={request}>
      The key is not shown again. <a class="link" href="/api/docs" target="_blank" rel="noreferrer">All that it can do</a>
    </Copied>
  );
}

function Copied({ label, text, children }: { label: string; text: string; children?: ComponentChildren }) {
  return (
    <div class="stack gap-2">
      <p class="sm soft">{label}:</p>
      <div class="copied text-block line top">
        <pre class="text grow" tabIndex={0}>
          {/* A word, such as --home, stays in one line. */}
          <code>{text.split(/([ \n]+)/).map((part, index) => (index % 2 === 0 ? <span class="nowrap">{part}</span> : part))}</code>
        </pre>
        <CopyButton text={text} label="Copy" />
      </div>
      {children && <p class="xs muted">{children}</p>}
    </div>
  );
}

/** Whether the program has come: its first hook, and how it is woken. */
function Arrival({ name, host }: { name: string; host: string }) {
  const { value } = useSessions(name, 2_000);
  const session = value?.items.find((other) => other.host === host) ?? value?.items[0];
  if (session === undefined) {
    return (
      <p class="notice is-waiting" role="status">
        <Dots /> <span>Waiting for its first hook</span>
      </p>
    );
  }
  const seconds = Math.max(0, Math.round((now.value - Date.parse(session.seenAt)) / 1000));
  return (
    <p class="notice is-same line wrap" role="status">
      <Line text={describeProgram(session.host)} limit={40} class="strong" />
      <span>is here: seen {seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`} ago</span>
      <Reached reachability={session.reachability} />
    </p>
  );
}
