/** Stop a run: at once, wherever somebody sees that an agent thinks. What it has done stays done. */

import { agents, displayName } from "../data/live.js";
import { client, isAdministrator } from "../data/session.js";
import { Icon } from "../ui/icons.js";
import { toLine } from "../ui/text.js";
import { attempt } from "../ui/toasts.js";

/** The key that stops what is selected or shown. */
export const STOP_KEY = "x";

/** Stop the run of an agent, if it has one now; return whether it was stopped. */
export async function stopAgent(name: string): Promise<boolean> {
  const id = agents().value.runs[name];
  return id !== undefined && stopRun(id, name);
}

export async function stopRun(id: string, agent: string): Promise<boolean> {
  return attempt(() => client.cancelRun({ id }), `${toLine(displayName(agent), 60)} stopped`);
}

interface StopButtonProps {
  agent: string;
  isSmall?: boolean;
  /** The key works here, and the title says so. */
  hasKey?: boolean;
}

/** Nothing, unless the agent thinks and the person may stop it. */
export function StopButton({ agent, isSmall = false, hasKey = false }: StopButtonProps) {
  if (!isAdministrator.value || agents().value.runs[agent] === undefined) return null;
  const label = `Stop ${toLine(displayName(agent), 60)}`;
  return (
    <button class={`button danger stop-button ${isSmall ? "small" : ""}`} type="button" aria-label={label} title={hasKey ? `${label} (${STOP_KEY})` : label} onClick={() => void stopAgent(agent)}>
      <Icon name="stop" size={12} /> Stop
    </button>
  );
}
