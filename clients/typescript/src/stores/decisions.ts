/**
 * Decisions that the caller may see. The frames about decisions are live only, so all are loaded again whenever the
 * feed opens.
 */

import type { GatepostClient } from "../client.js";
import type { GatepostEvent } from "../events.js";
import { openFeed, type Feed } from "../feed.js";
import type { AnswerDecision, Decision, ListDecisions } from "../models.js";
import type { CallOptions } from "../options.js";
import { INITIAL_STATE, Store, type StoreState } from "./store.js";

export interface DecisionsState extends StoreState {
  /** Decisions in the order of asking; with `newestFirst`, the last one first. */
  decisions: readonly Decision[];
}

export interface DecisionsOptions extends Omit<ListDecisions, "after" | "limit" | "since"> {
  /** The feed of the page, which must have the inbox of the caller; without it, the store opens a combined stream. */
  feed?: Feed;
}

const INITIAL: DecisionsState = { ...INITIAL_STATE, decisions: [] };

export class DecisionsStore extends Store<DecisionsState> {
  readonly #client: GatepostClient;
  readonly #request: ListDecisions;
  /** Decisions that were answered here, which the loads under way may not know. */
  readonly #answers = new Set<Decision>();

  constructor(client: GatepostClient, options: DecisionsOptions = {}) {
    const { feed, ...request } = options;
    const inbox = request.asked ?? request.asker;
    super(feed ?? openFeed(client, inbox === undefined ? {} : { inbox: [inbox] }), INITIAL);
    this.#client = client;
    this.#request = request;
  }

  /**
   * Answer a decision as it is shown here, or as it was shown where `contextHash` is from. If its question has changed,
   * or somebody was faster, the decisions are loaded again and the error is raised; its `answer` says who was faster.
   */
  async answer(id: string, answer: Omit<AnswerDecision, "id">, options: CallOptions = {}): Promise<Decision> {
    const shown = this.state.decisions.find((decision) => decision.id === id);
    try {
      const decision = await this.#client.answerDecision({ contextHash: shown?.contextHash, ...answer, id }, options);
      this.#answers.add(decision);
      this.#addDecision(decision);
      this.afterLoads(() => this.#answers.delete(decision));
      return decision;
    } catch (error) {
      void this.refresh();
      throw error;
    }
  }

  protected override async load(signal: AbortSignal): Promise<void> {
    const decisions: Decision[] = [];
    for await (const decision of this.#client.pages(this.#client.listDecisions, this.#request, { signal })) {
      decisions.push(decision);
    }
    this.update({ decisions: [...this.#answers].reduce<readonly Decision[]>(this.#merge, decisions) });
  }

  protected override receive({ event, data }: GatepostEvent): void {
    if (event === "decision.asked" || event === "decision.answered") this.#addDecision(data);
  }

  #addDecision(decision: Decision): void {
    this.update({ decisions: this.#merge(this.state.decisions, decision) });
  }

  readonly #merge = (decisions: readonly Decision[], decision: Decision): readonly Decision[] => {
    if (!matches(decision, this.#request)) return decisions.filter((other) => other.id !== decision.id);
    if (decisions.some((other) => other.id === decision.id)) {
      return decisions.map((other) => (other.id === decision.id ? decision : other));
    }
    return this.#request.newestFirst ? [decision, ...decisions] : [...decisions, decision];
  };
}

function matches(decision: Decision, filter: ListDecisions): boolean {
  const isPending = decision.status === "pending" || decision.status === "revising";
  return (
    (filter.pending === undefined || filter.pending === isPending) &&
    (filter.asker === undefined || filter.asker === decision.asker) &&
    (filter.asked === undefined || decision.asked.includes(filter.asked)) &&
    (filter.session === undefined || filter.session === decision.session)
  );
}
