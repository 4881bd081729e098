/** Runs: one of them, or those of all agents, with filters that are in the address. */

import "./agents.css";

import type { EventType, RunStatus } from "@gatepost/client";

import { useCommands } from "../commands.js";
import { agents, displayName } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { changeQuery, navigate, query, segments } from "../router.js";
import { toLine } from "../ui/text.js";
import { describeInstant } from "../ui/time.js";
import { describeCause, RUN_CAUSES, RUN_STATUSES } from "./describe.js";
import { RunPage } from "./run.js";
import { RunTimeline } from "./timeline.js";

/** What the address says of the runs that are shown. */
const FILTERS = ["agent", "status", "cause", "model", "within", "since", "until"] as const;
const LENGTHS = { "1h": ["the last hour", 3_600_000], "1d": ["the last 24 hours", 86_400_000], "7d": ["the last 7 days", 604_800_000], "30d": ["the last 30 days", 2_592_000_000] } as const;
/** Milliseconds for which models are offered. */
const MODELS_LENGTH = 90 * 86_400_000;

type Option = readonly [value: string, label: string];

export default function Runs() {
  const id = segments.value[1];
  return id === undefined ? <RunList /> : <RunPage key={id} id={id} />;
}

function RunList() {
  const isFiltered = FILTERS.some((name) => query.value.has(name));
  const clear = () => navigate("/runs");
  useCommands([
    ...(isFiltered ? [{ id: "all-runs", title: "Show all runs", group: "Runs", keys: "Escape", run: clear }] : []),
    ...RUN_STATUSES.map(([status, label]) => ({ id: `runs-${status}`, title: `Show runs that are ${label}`, group: "Runs", run: () => changeQuery({ status }) })),
  ]);
  return (
    <>
      <header class="view-head">
        <h1>Runs</h1>
      </header>
      <div class="run-filters view-bar line gap-2 wrap" role="group" aria-label="Filters">
        <Filters />
        {isFiltered && (
          <button class="button small quiet" title="Show all runs (Escape)" onClick={clear}>
            Clear
          </button>
        )}
      </div>
      <div class="view-body">
        <RunTimeline key={query.value.toString()} load={readFilters} filters={FILTERS.map((name) => query.value.get(name) ?? "").join("\n")} isFiltered={isFiltered} />
      </div>
    </>
  );
}

function Filters() {
  const { value: models } = useLoad(async (signal) => {
    const since = new Date(Date.now() - MODELS_LENGTH).toISOString();
    return (await client.showUsage({ by: ["model"], since, limit: 100 }, { signal })).items.flatMap(({ model }) => model || []);
  }, []);
  const names = agents().value.agents.filter((agent) => agent.resident);
  const [since, until] = [query.value.get("since"), query.value.get("until")];
  const instants = [since && `since ${describeInstant(since)}`, until && `until ${describeInstant(until)}`].filter(Boolean).join(" ");
  return (
    <>
      <Filter name="agent" all="All agents" options={names.map((agent) => [agent.name, toLine(displayName(agent.name), 60)])} />
      <Filter name="status" all="Any status" options={RUN_STATUSES} />
      <Filter name="cause" all="Any cause" options={RUN_CAUSES.map((cause) => [cause, describeCause(cause)])} />
      <Filter name="model" all="Any model" options={(models ?? []).map((model) => [model, toLine(model, 60)])} />
      <select
        class="field small"
        aria-label="Time"
        value={instants === "" ? (query.value.get("within") ?? "") : "instants"}
        onChange={(event) => changeQuery({ within: event.currentTarget.value, since: undefined, until: undefined })}
      >
        <option value="">Any time</option>
        {instants !== "" && <option value="instants">{instants}</option>}
        {Object.entries(LENGTHS).map(([length, [label]]) => (
          <option key={length} value={length}>
            {label}
          </option>
        ))}
      </select>
    </>
  );
}

/** A choice of one value; one of the address that is not offered is offered all the same. */
function Filter({ name, all, options }: { name: string; all: string; options: readonly Option[] }) {
  const value = query.value.get(name) ?? "";
  const isKnown = value === "" || options.some(([other]) => other === value);
  return (
    <select class="field small" aria-label={name.charAt(0).toUpperCase() + name.slice(1)} value={value} onChange={(event) => changeQuery({ [name]: event.currentTarget.value })}>
      <option value="">{all}</option>
      {!isKnown && <option value={value}>{toLine(value, 60)}</option>}
      {options.map(([option, label]) => (
        <option key={option} value={option}>
          {label}
        </option>
      ))}
    </select>
  );
}

/** Return the filters of the address as a request has them. */
function readFilters() {
  const pick = (name: (typeof FILTERS)[number]) => query.value.get(name) || undefined;
  const [agent, model, within, until] = [pick("agent"), pick("model"), pick("within"), pick("until")];
  const [status, cause] = [pick("status") as RunStatus | undefined, pick("cause") as EventType | undefined];
  const length = Object.entries(LENGTHS).find(([name]) => name === within)?.[1][1];
  const since = pick("since") ?? (length === undefined ? undefined : new Date(Date.now() - length).toISOString());
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(status === undefined ? {} : { status }),
    ...(cause === undefined ? {} : { cause }),
    ...(model === undefined ? {} : { model }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  };
}
