/** Plans: when they and the schedules fire next, what has fired lately, and the plans themselves. */

import "./plans.css";

import type { Plan } from "@gatepost/client";
import { useEffect, useRef, useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { displayName, entities } from "../data/live.js";
import { useLoad, type Load } from "../data/load.js";
import { isAdministrator } from "../data/session.js";
import { buildPath, changeQuery, navigate, query, segments } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Empty, Failure, Skeleton } from "../ui/parts.js";
import { useRowKeys } from "../ui/row-keys.js";
import { toLine } from "../ui/text.js";
import { FIRES_INTERVAL, isAboutFires, isAboutPlans, isAboutTriggers, useFireMarks, useFollow } from "./follow.js";
import { listNextFires, listPlans, listRecentFires, listTriggers, type RecentFire } from "./load.js";
import { RecentFires } from "./past-fires.js";
import { PlanDialog } from "./plan-dialog.js";
import { PlanRow } from "./plan-row.js";
import { PlanPage } from "./plan.js";
import { SPANS, type Span } from "./spans.js";
import { LANE_HEIGHT, MARKS_HEIGHT, MAX_LANES, TimeLine } from "./time-line.js";
import { PlanSwitch, usePlanToggle } from "./toggle.js";

export default function Plans() {
  useFireMarks();
  const id = segments.value[1];
  return id === undefined ? <PlanList /> : <PlanPage key={id} id={id} />;
}

function PlanList() {
  const isEnded = query.value.get("show") === "ended";
  const owner = query.value.get("owner") ?? undefined;
  const { value, error, reload, refresh } = useLoad((signal) => listPlans(signal, owner === undefined ? {} : { owner }), [owner ?? ""]);
  const recent = useLoad(async (signal) => listRecentFires(signal, ...(await Promise.all([listPlans(signal, {}), listTriggers(signal)]))), []);
  useFollow(refresh, isAboutPlans);
  useFollow(recent.refresh, isAboutFires);
  const [isCreating, setCreating] = useState(false);
  const { apply, toggle, dialog } = usePlanToggle(value, reload);
  const current = value?.filter((plan) => plan.status === "pending").map(apply).toSorted(compareNext);
  const ended = value?.filter((plan) => plan.status !== "pending").toSorted(compareEnd);
  const list = (isEnded ? ended : current) ?? [];
  const { index, item } = useRowKeys("Plans", list, (plan) => navigate(buildPath("plans", plan.id)), (plan) => plan.id);
  useCommands([
    { id: "new-plan", title: "Make a plan", group: "Plans", keys: "c", run: () => setCreating(true) },
    ...(isEnded ? [] : [{ id: "toggle-plan", title: "Enable or disable the selected plan", group: "Plans", keys: "p", run: () => item !== undefined && toggle(item) }]),
    { id: "show-current", title: "Show current plans", group: "Plans", keys: "1", run: () => changeQuery({ show: undefined }) },
    { id: "show-ended", title: "Show ended plans", group: "Plans", keys: "2", run: () => changeQuery({ show: "ended" }) },
    ...(Object.keys(SPANS) as Span[]).map((span) => ({ id: `span-${span}`, title: `Show the fires of the next ${SPANS[span].name}`, group: "Plans", run: () => changeQuery({ within: span }) })),
  ]);
  return (
    <>
      <header class="view-head">
        <h1>Plans</h1>
        <nav class="tabs" aria-label="Which plans">
          <Tab label="Current" count={current?.length} isCurrent={!isEnded} show={undefined} />
          <Tab label="Ended" count={ended?.length} isCurrent={isEnded} show="ended" />
        </nav>
        <span class="grow" />
        {isAdministrator.value && <OwnerSelect owner={owner} />}
        <button class="button" title="New plan (c)" onClick={() => setCreating(true)}>
          <Icon name="plus" size={14} /> <span class="hide-phone">New plan</span>
        </button>
      </header>
      <div class="view-body plans stack gap-5">
        {error !== undefined && value === undefined ? (
          <Failure error={error} onRetry={reload} />
        ) : (
          <>
            {!isEnded && <NextFires owner={owner} past={recent.value} enabled={value?.filter((plan) => plan.status === "pending" && plan.active)} />}
            <div class="columns plan-columns">
              <section class="plan-section stack top gap-2" aria-labelledby="plan-list">
                <h2 id="plan-list">{isEnded ? "Ended plans" : "Current plans"}</h2>
                {value === undefined ? (
                  <Skeleton />
                ) : list.length === 0 ? (
                  <NoPlans isEnded={isEnded} onCreate={() => setCreating(true)} />
                ) : (
                  <ul class="card row-list">
                    {list.map((plan, position) => (
                      <li key={plan.id} class="plan-entry">
                        <PlanRow plan={plan} isSelected={position === index} />
                        {plan.status === "pending" && <PlanSwitch plan={plan} onToggle={() => toggle(plan)} />}
                      </li>
                    ))}
                  </ul>
                )}
              </section>
              <RecentSection load={recent} />
            </div>
          </>
        )}
      </div>
      {dialog}
      {isCreating && <PlanDialog owner={owner} onClose={() => setCreating(false)} onDone={reload} />}
    </>
  );
}

function Tab({ label, count, isCurrent, show }: { label: string; count: number | undefined; isCurrent: boolean; show: string | undefined }) {
  return (
    <button class="tab" aria-current={isCurrent ? "page" : undefined} onClick={() => changeQuery({ show })}>
      {label} {count !== undefined && <span class="number">{count}</span>}
    </button>
  );
}

function OwnerSelect({ owner }: { owner: string | undefined }) {
  return (
    <select class="field small plan-owner hide-phone" aria-label="Whose plans" value={owner ?? ""} onChange={(event) => changeQuery({ owner: event.currentTarget.value })}>
      <option value="">Everybody's</option>
      {entities.value
        .filter((entity) => entity.kind !== "service")
        .map((entity) => (
          <option key={entity.name} value={entity.name}>
            {toLine(displayName(entity.name), 50)}
          </option>
        ))}
    </select>
  );
}

interface NextFiresProps {
  owner: string | undefined;
  past: readonly RecentFire[] | undefined;
  /** The plans that fire, as they were loaded last. */
  enabled: readonly Plan[] | undefined;
}

/** The time line of all plans and schedules. */
function NextFires({ owner, past, enabled }: NextFiresProps) {
  const wanted = query.value.get("within") ?? "1d";
  const span: Span = wanted in SPANS ? (wanted as Span) : "1d";
  const { value, error, reload, refresh } = useLoad(async (signal) => {
    const request = owner === undefined ? {} : { owner };
    const [plans, triggers] = await Promise.all([listPlans(signal, { ...request, status: "pending" }), owner === undefined ? listTriggers(signal) : []]);
    return listNextFires(signal, { ...request, within: span }, plans, triggers);
  }, [owner ?? "", span]);
  useFollow(refresh, (event) => isAboutPlans(event) || isAboutTriggers(event), FIRES_INTERVAL);
  // Only the administrator gets events of plans that were enabled or disabled.
  const ids = enabled?.map((plan) => plan.id).join();
  const lastIds = useRef(ids);
  useEffect(() => {
    if (lastIds.current !== undefined && lastIds.current !== ids) reload();
    lastIds.current = ids;
  }, [ids]);
  return (
    <section class="plan-section stack top gap-2" aria-labelledby="next-fires">
      <header class="section-head">
        <h2 id="next-fires" class="grow">Next fires</h2>
        <nav class="tabs" aria-label="How far ahead">
          {(Object.keys(SPANS) as Span[]).map((name) => (
            <a key={name} class="tab small" href={withSpan(name)} aria-current={name === span ? "page" : undefined}>
              {SPANS[name].name}
            </a>
          ))}
        </nav>
      </header>
      <div class="card time-line-card">
        {error !== undefined && value === undefined ? (
          <Failure error={error} onRetry={reload} />
        ) : value === undefined ? (
          <div class="row-list" style={{ height: `${Math.min(MAX_LANES, enabled?.length ?? 4) * LANE_HEIGHT + MARKS_HEIGHT}px` }}>
            <Skeleton rows={3} />
          </div>
        ) : value.fires.length === 0 ? (
          <p class="quiet-note soft sm">Nothing is due in the next {SPANS[span].name}.</p>
        ) : (
          <TimeLine fires={value.fires} until={value.until} past={past ?? []} span={span} />
        )}
      </div>
    </section>
  );
}

/** The fires of the last day, also of plans that have ended. */
function RecentSection({ load: { value, error, reload } }: { load: Load<RecentFire[]> }) {
  return (
    <section class="plan-section stack top gap-2" aria-labelledby="recent-fires">
      <h2 id="recent-fires">Recent fires</h2>
      {value === undefined ? (
        <div class="card">{error === undefined ? <Skeleton rows={4} /> : <Failure error={error} onRetry={reload} />}</div>
      ) : value.length === 0 ? (
        <p class="card quiet-note soft sm">Nothing has fired in the last day. You see it here the moment it does.</p>
      ) : (
        <RecentFires fires={value} />
      )}
    </section>
  );
}

function NoPlans({ isEnded, onCreate }: { isEnded: boolean; onCreate: () => void }) {
  if (isEnded) {
    return (
      <div class="card">
        <Empty icon="clock" title="No plan has ended yet">
          <p>A plan that fires once ends when it has fired.</p>
        </Empty>
      </div>
    );
  }
  return (
    <div class="card">
      <Empty icon="clock" title="No plans">
        <p>A plan brings an instruction to an inbox later: once, by a schedule, or when a gate is resolved. Agents make plans for themselves, too.</p>
        <button class="button" onClick={onCreate}>
          Make a plan
        </button>
      </Empty>
    </div>
  );
}

function withSpan(span: Span): string {
  const values = new URLSearchParams(query.value);
  if (span === "1d") values.delete("within");
  else values.set("within", span);
  const text = values.toString();
  return text === "" ? "/plans" : `/plans?${text}`;
}

function compareNext(a: Plan, b: Plan): number {
  return (a.nextRunAt ?? "9").localeCompare(b.nextRunAt ?? "9") || Number(b.active) - Number(a.active);
}

function compareEnd(a: Plan, b: Plan): number {
  return (b.endedAt ?? "").localeCompare(a.endedAt ?? "");
}

