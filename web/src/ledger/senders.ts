/** Whose accounts are on the ledger. The memo of an inbound topic has the account of the entity that it belongs to. */

import { client } from "../data/session.js";

const MAX_TOPICS = 5000;

export interface Senders {
  byAccount: ReadonlyMap<string, string>;
}

export async function loadSenders(signal: AbortSignal): Promise<Senders> {
  const byAccount = new Map<string, string>();
  for await (const topic of client.pages(client.listTopics, { kind: "inbound", limit: 1000 }, { signal })) {
    const account = topic.memo.split(":").at(-1);
    if (account !== undefined && topic.entity !== null) byAccount.set(account, topic.entity);
    if (byAccount.size >= MAX_TOPICS) break;
  }
  return { byAccount };
}
