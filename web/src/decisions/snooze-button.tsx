/** Put a question off: its item in the inbox of the person is snoozed. */

import type { Decision, Item, SnoozeTerms } from "@gatepost/client";
import { useState } from "preact/hooks";

import { loadSnoozedDecisions, snoozedDecisions } from "../data/live.js";
import { client, me } from "../data/session.js";
import { SnoozeDialog } from "../inbox/snooze-dialog.js";
import { Icon } from "../ui/icons.js";
import { attempt } from "../ui/toasts.js";

export function SnoozeButton({ decision, isBusy }: { decision: Decision; isBusy: boolean }) {
  const [isChoosing, setChoosing] = useState(false);
  const change = (run: (events: string[]) => Promise<unknown>, done: string) =>
    attempt(async () => {
      const item = await findItem(decision);
      if (item === undefined) throw new Error("its question is not in your inbox any more");
      await run([item.eventId]);
      await loadSnoozedDecisions();
    }, done);
  if (snoozedDecisions.value.has(decision.id)) {
    return (
      <button class="button quiet" disabled={isBusy} onClick={() => void change((events) => client.unsnoozeItems({ name: me.value, events }), "Shown again")}>
        Show again
      </button>
    );
  }
  const snooze = (terms: SnoozeTerms, until: string) => {
    setChoosing(false);
    void change((events) => client.snoozeItems({ name: me.value, events, ...terms }), `Snoozed: ${until}`);
  };
  return (
    <>
      <button class="icon-button" aria-label="Snooze the decision" title="Snooze" disabled={isBusy} onClick={() => setChoosing(true)}>
        <Icon name="clock" size={14} />
      </button>
      {isChoosing && <SnoozeDialog count={1} item={undefined} isPerson onClose={() => setChoosing(false)} onSnooze={snooze} />}
    </>
  );
}

/** Return the item by which the person was asked last. */
async function findItem({ id }: Decision): Promise<Item | undefined> {
  const { items } = await client.listInbox({ name: me.value, type: "decision", state: "pending", newestFirst: true, limit: 1000 });
  return items.find(({ data }) => (data as { decisionId?: unknown } | null)?.decisionId === id);
}
