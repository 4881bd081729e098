/** Providers of models, and the models that agents have. A key is never shown, only whether there is one. */

import { listLacks } from "../agents/agent-fields.js";
import { displayName } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { buildPath } from "../router.js";
import { Failure, Line, Skeleton } from "../ui/parts.js";

export function Models() {
  const { value, error, reload } = useLoad((signal) => client.showModels({}, { signal }), []);
  if (value === undefined) return error === undefined ? <Skeleton rows={4} /> : <Failure error={error} onRetry={reload} />;
  return (
    <ul class="card row-list">
      {value.providers.map((provider) => (
        <li key={provider.name} class="row line wrap">
          <span class="strong">{provider.name}</span>
          <span class="grow muted">{provider.keyVariable === null ? "needs no key" : <code>{provider.keyVariable}</code>}</span>
          {!provider.libraryInstalled && <code class="xs">{provider.install}</code>}
          <span class={`badge ${listLacks(provider) === "" ? "accent" : "warn"}`}>{listLacks(provider) || "ready"}</span>
        </li>
      ))}
      {value.inUse.map(({ name, agents, problem }, index) => (
        <li key={`${name}-${index}`} class="row line wrap">
          <Line text={name} limit={80} class="strong" />
          <span class="line wrap grow gap-2 muted">
            {agents.slice(0, 8).map((agent) => (
              <a key={agent} class="link" href={buildPath("agents", agent)}>
                <Line text={displayName(agent)} limit={40} />
              </a>
            ))}
            {agents.length > 8 && <span>and {agents.length - 8} more</span>}
          </span>
          {problem && <span class="warn-text text">{problem.message}</span>}
        </li>
      ))}
    </ul>
  );
}
