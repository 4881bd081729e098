/** Queues of what must arrive in the order in which it was written, although each request is tried again by itself. */

import { GatepostError } from "./errors.js";
import { RETRY_STATUSES } from "./retry.js";

/** Sends one after the other. If one cannot reach the gateway, those that wait fail as well: none overtakes another. */
export class SendQueue {
  #last: Promise<Error | undefined> = Promise.resolve(undefined);
  #waitingCount = 0;

  /** Send after all that came before, and return the answer. */
  async run<Answer>(send: () => Promise<Answer>): Promise<Answer> {
    const isFirst = this.#waitingCount === 0;
    this.#waitingCount += 1;
    const answer = this.#last.then((failure) => {
      if (failure !== undefined && !isFirst) throw failure;
      return send();
    });
    this.#last = answer.then(
      () => undefined,
      (error: unknown) => (isUnreachable(error) ? error : undefined),
    );
    try {
      return await answer;
    } finally {
      this.#waitingCount -= 1;
    }
  }
}

const queues = new WeakMap<object, Map<string, SendQueue>>();

/** Return the queue of a space or a session, which all stores of a client share. */
export function findQueue(client: object, name: string): SendQueue {
  const byName = queues.get(client) ?? new Map<string, SendQueue>();
  queues.set(client, byName);
  const queue = byName.get(name) ?? new SendQueue();
  byName.set(name, queue);
  return queue;
}

function isUnreachable(error: unknown): error is GatepostError {
  return error instanceof GatepostError && (error.status === 0 || RETRY_STATUSES.includes(error.status));
}
