/** Agents, and which of them think now. */

import type { GatepostClient } from "../client.js";
import { GatepostError } from "../errors.js";
import type { GatepostEvent } from "../events.js";
import { openFeed, type Feed } from "../feed.js";
import type { Agent, ListAgents } from "../models.js";
import { INITIAL_STATE, Store, type StoreState } from "./store.js";

export interface AgentsState extends StoreState {
  /** Agents in order of registration. */
  agents: readonly Agent[];
  /** By the name of an agent: the run that it thinks in now. */
  runs: Readonly<Record<string, string>>;
}

export interface AgentsOptions extends Omit<ListAgents, "after" | "limit"> {
  /** The feed of the page; without it, the store opens a combined stream. */
  feed?: Feed;
}

const INITIAL: AgentsState = { ...INITIAL_STATE, agents: [], runs: {} };

export class AgentsStore extends Store<AgentsState> {
  readonly #client: GatepostClient;
  readonly #request: ListAgents;

  constructor(client: GatepostClient, options: AgentsOptions = {}) {
    const { feed, ...request } = options;
    super(feed ?? openFeed(client), INITIAL);
    this.#client = client;
    this.#request = request;
  }

  protected override async load(signal: AbortSignal): Promise<void> {
    const agents: Agent[] = [];
    for await (const agent of this.#client.pages(this.#client.listAgents, this.#request, { signal })) {
      agents.push(agent);
    }
    this.update({ agents, runs: await this.#listRuns(signal) });
  }

  protected override receive({ event, data }: GatepostEvent): void {
    if (event === "agent.active") {
      this.update({ runs: { ...this.state.runs, [data.agent]: data.runId } });
    } else if (event === "agent.inactive" && this.state.runs[data.agent] === data.runId) {
      const others = Object.entries(this.state.runs).filter(([agent]) => agent !== data.agent);
      this.update({ runs: Object.fromEntries(others) });
    }
  }

  /** Return the runs under way; a caller that may not list them learns of them from the feed. */
  async #listRuns(signal: AbortSignal): Promise<Record<string, string>> {
    try {
      const { items } = await this.#client.listRuns({ status: "running", limit: 1000 }, { signal });
      return Object.fromEntries(items.map((run) => [run.agent, run.id]));
    } catch (error) {
      if (error instanceof GatepostError && error.status === 403) return {};
      throw error;
    }
  }
}
