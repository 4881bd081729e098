/** The shortest way to an agent that answers: a resident with the model `demo`, and the conversation with it. */

import { agentsStore, entities, loadEntities } from "../data/live.js";
import { client } from "../data/session.js";
import { navigate } from "../router.js";
import { Icon } from "../ui/icons.js";
import { useSubmission } from "../ui/submission.js";
import { attempt } from "../ui/toasts.js";

export function FirstAgentButton() {
  const { isBusy, submit } = useSubmission();
  const add = () =>
    submit(async () => {
      const isAdded = await attempt(async () => {
        await client.registerAgent({ name: chooseName(), model: "demo" });
        await Promise.all([agentsStore.refresh(), loadEntities()]);
      }, "Agent added");
      if (isAdded) navigate("/chat");
      return isAdded;
    });
  return (
    <button class="button primary" disabled={isBusy} onClick={() => void add()}>
      <Icon name="plus" size={14} /> Add a demo agent
    </button>
  );
}

/** Return a name that nobody has. */
function chooseName(): string {
  const names = new Set(entities.value.map(({ name }) => name));
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? "helper" : `helper-${number}`;
    if (!names.has(name)) return name;
  }
}
