/** Health: whether anything was lost, how much goes through, how long it waits, and whether every part works. */

import "./health.css";
import "../home/home.css";

import type { Health as HealthState, History } from "@gatepost/client";
import { useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { useInterval, useLoad } from "../data/load.js";
import { client, me } from "../data/session.js";
import { changeQuery, query, withFilters } from "../router.js";
import { Failure, Skeleton } from "../ui/parts.js";
import { plural } from "../ui/text.js";
import { formatDuration } from "../ui/time.js";
import { Accounts } from "./accounts.js";
import { Charts } from "./charts.js";
import { Alerts, formatBytes, Parts } from "./parts.js";

const LENGTHS = [
  ["1h", "1 hour"],
  ["6h", "6 hours"],
  ["1d", "24 hours"],
  ["7d", "7 days"],
  ["30d", "30 days"],
] as const;
const REFRESH_INTERVAL = 10_000;

export default function Health() {
  const within = LENGTHS.find(([length]) => length === query.value.get("within"))?.[0] ?? "1h";
  const health = useLoad((signal) => client.showHealth({}, { signal }), []);
  const history = useLoad((signal) => client.showHistory({ within }, { signal }), [within]);
  const accounts = useLoad((signal) => client.listAccounts({ limit: 200 }, { signal }), []);
  const overview = useLoad((signal) => client.showOverview({ limit: 5 }, { signal }), [me.value]);
  useInterval(() => [health, history, accounts, overview].forEach((load) => load.reload()), REFRESH_INTERVAL);
  const [checks, setChecks] = useState(0);
  useCommands([
    ...LENGTHS.map(([length, label], index) => ({ id: `within-${length}`, title: `Show the last ${label}`, group: "Health", keys: String(index + 1), run: () => changeQuery({ within: length }) })),
    { id: "check-store", title: "Check the store for losses", group: "Health", keys: "c", run: () => setChecks(checks + 1) },
  ]);
  return (
    <>
      <header class="view-head has-tabs">
        <h1>Health</h1>
        <StatusBadge health={health.value} error={health.error} isUnbalanced={(accounts.value?.total.unbalanced ?? 0) > 0} />
        <span class="grow" />
        <nav class="tabs" aria-label="Time of the charts">
          {LENGTHS.map(([length, label]) => (
            <a key={length} class="tab" href={withFilters("/health", { within: length })} aria-current={length === within ? "page" : undefined}>
              {label}
            </a>
          ))}
        </nav>
      </header>
      <div class="view-body stack gap-5">
        {health.error !== undefined && health.value === undefined ? (
          <Failure error={health.error} onRetry={health.reload} />
        ) : (
          <>
            <Summary health={health.value} history={history.value} dead={accounts.value?.total.dead} pending={accounts.value?.total.pending} alerts={overview.value?.waiting.alertCount} />
            <section class="stack gap-2" aria-labelledby="accounts">
              <Accounts page={accounts.value} error={accounts.error} checks={checks} onCheck={() => setChecks(checks + 1)} />
            </section>
            {history.value === undefined ? history.error === undefined ? <Skeleton rows={8} /> : <Failure error={history.error} onRetry={history.reload} /> : <Charts history={history.value} />}
            <div class="columns">
              <section class="stack gap-2" aria-labelledby="parts">
                <h2 id="parts">Parts</h2>
                <Parts health={health.value} history={history.value} />
              </section>
              <section class="stack gap-2" aria-labelledby="alerts">
                <h2 id="alerts">Alerts for you</h2>
                <Alerts waiting={overview.value?.waiting} />
              </section>
            </div>
          </>
        )}
      </div>
    </>
  );
}

function StatusBadge({ health, error, isUnbalanced }: { health: HealthState | undefined; error: Error | undefined; isUnbalanced: boolean }) {
  if (health === undefined) return error === undefined ? null : <span class="badge danger">not reachable</span>;
  const [tone, text] = health.status === "ok" && !isUnbalanced ? ["accent", "all well"] : health.status !== "unavailable" ? ["warn", "degraded"] : ["danger", "unavailable"];
  return (
    <span class={`badge health-status ${tone}`} role="status">
      {text}
    </span>
  );
}

interface SummaryProps {
  health: HealthState | undefined;
  history: History | undefined;
  dead: number | undefined;
  pending: number | undefined;
  alerts: number | undefined;
}

function Summary({ health, history, dead, pending, alerts }: SummaryProps) {
  const accepted = history?.steps.reduce((sum, step) => sum + step.accepted, 0);
  const since = history?.steps[0]?.at;
  return (
    <nav class="summary" aria-label="Numbers">
      <Figure href={withFilters("/items", { state: "pending" })} label={health?.lagSeconds === 0 ? "waits for an agent" : "oldest item for an agent"} value={health?.lagSeconds === undefined ? undefined : health.lagSeconds === 0 ? "nothing" : formatDuration(health.lagSeconds * 1000).replace(/( m) \d+ s$/, "$1")} />
      <Figure href={withFilters("/items", { state: "pending" })} label="pending items" value={pending?.toLocaleString("en")} />
      <Figure href={withFilters("/items", { since })} label="events accepted" value={accepted?.toLocaleString("en")} />
      <Figure href="/items?state=dead" label="dead items" value={dead?.toLocaleString("en")} isBad={(dead ?? 0) > 0} />
      <Figure href="/inbox?type=alert" label={plural(alerts ?? 0, "alert").replace(/^\S+ /, "") + " for you"} value={alerts?.toLocaleString("en")} isBad={(alerts ?? 0) > 0} />
      <Figure href="#parts" label="in the store" value={history && formatBytes(history.storeBytes)} />
    </nav>
  );
}

function Figure({ href, label, value, isBad = false }: { href: string; label: string; value: string | undefined; isBad?: boolean }) {
  const jump = (event: Event) => {
    if (!href.startsWith("#")) return;
    event.preventDefault();
    document.getElementById(href.slice(1))?.scrollIntoView({ block: "center" });
  };
  return (
    <a class={`figure stack top ${isBad ? "is-bad" : ""}`} href={href} onClick={jump}>
      <span class="figure-value">{value ?? "–"}</span>
      <span class="figure-label xs muted">{label}</span>
    </a>
  );
}
