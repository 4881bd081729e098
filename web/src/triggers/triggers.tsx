/** Triggers: the ways by which something outside reaches agents. */

import "../plans/plans.css";
import "./triggers.css";

import type { Trigger } from "@gatepost/client";
import { useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { displayName } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { isAboutTriggers, justFired, useFireMarks, useFollow } from "../plans/follow.js";
import { listTriggers } from "../plans/load.js";
import { buildPath, changeQuery, navigate, query, segments } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Empty, Failure, Line, Skeleton } from "../ui/parts.js";
import { useRowKeys } from "../ui/row-keys.js";
import { toLine } from "../ui/text.js";
import { formatExact, formatRelative, now } from "../ui/time.js";
import { describeState, describeTrigger, providerIcon, providerName } from "./describe.js";
import { TriggersHead } from "./head.js";
import { TriggerDialog } from "./trigger-dialog.js";
import { TriggerPage } from "./trigger.js";

export default function Triggers() {
  useFireMarks();
  const name = segments.value[1];
  return name === undefined ? <TriggerList /> : <TriggerPage key={name} name={name} />;
}

function TriggerList() {
  const provider = query.value.get("provider") ?? undefined;
  const { value, error, reload, refresh } = useLoad((signal) => listTriggers(signal), []);
  useFollow(refresh, isAboutTriggers);
  const wanted = query.value.get("new") ?? undefined;
  const [isCreating, setCreating] = useState(wanted !== undefined);
  const providers = [...new Set(value?.map((trigger) => trigger.provider))].sort();
  const list = (value ?? []).filter((trigger) => provider === undefined || trigger.provider === provider);
  const { index } = useRowKeys("Triggers", list, (trigger) => navigate(buildPath("triggers", trigger.name)));
  useCommands([{ id: "new-trigger", title: "Add a trigger", group: "Triggers", keys: "c", run: () => setCreating(true) }]);
  return (
    <>
      <TriggersHead>
        <button class="button" title="New trigger (c)" onClick={() => setCreating(true)}>
          <Icon name="plus" size={14} /> <span class="hide-phone">New trigger</span>
        </button>
      </TriggersHead>
      <div class="view-body top stack gap-3">
        {providers.length > 1 && (
          <nav class="tabs" aria-label="Which triggers">
            {[undefined, ...providers].map((name) => (
              <button key={name ?? ""} class="tab small" aria-current={name === provider ? "page" : undefined} onClick={() => changeQuery({ provider: name })}>
                {name === undefined ? "All" : toLine(providerName(name), 40)} <span class="number">{value?.filter((trigger) => name === undefined || trigger.provider === name).length}</span>
              </button>
            ))}
          </nav>
        )}
        {value === undefined ? (
          error === undefined ? <Skeleton /> : <Failure error={error} onRetry={reload} />
        ) : list.length === 0 ? (
          <Empty icon="bolt" title="No triggers yet">
            <p>A trigger lets something outside reach your agents: a webhook of GitHub or Stripe, a schedule, a bot, a program of yours.</p>
            <button class="button" onClick={() => setCreating(true)}>
              Add a trigger
            </button>
          </Empty>
        ) : (
          <ul class="card row-list">
            {list.map((trigger, position) => (
              <li key={trigger.name}>
                <TriggerRow trigger={trigger} isSelected={position === index} />
              </li>
            ))}
          </ul>
        )}
      </div>
      {isCreating && <TriggerDialog wanted={wanted} onClose={() => (setCreating(false), changeQuery({ new: undefined }))} onDone={reload} />}
    </>
  );
}

function TriggerRow({ trigger, isSelected }: { trigger: Trigger; isSelected: boolean }) {
  const { name: state, tone } = describeState(trigger);
  const classes = ["row is-tall trigger-row", isSelected ? "is-selected" : "", trigger.active ? "" : "is-closed", justFired.value.has(trigger.name) ? "is-firing" : ""];
  return (
    <a class={classes.join(" ")} href={buildPath("triggers", trigger.name)}>
      <span class="muted" title={providerName(trigger.provider)}>
        <Icon name={providerIcon(trigger.provider)} />
      </span>
      <div class="stack">
        <Line text={trigger.name} class="plan-name strong" />
        <Line text={trigger.prompt ?? providerName(trigger.provider)} class="muted" />
      </div>
      <Line text={describeTrigger(trigger)} class="phone-2-2 muted" />
      <span class="trigger-to quiet-icon phone-2-3 line">
        <Icon name="chevron" size={12} />
        <Line text={trigger.target === null ? "the rules" : displayName(trigger.target)} class={trigger.target === null ? "muted" : ""} />
      </span>
      <span class="line end phone-1-3">
        {trigger.nextAt !== null && trigger.active && tone !== "danger" ? (
          <time class="number" dateTime={trigger.nextAt} title={formatExact(trigger.nextAt)}>
            {formatRelative(trigger.nextAt, now.value)}
          </time>
        ) : (
          <span class={`badge ${tone}`}>{state}</span>
        )}
      </span>
    </a>
  );
}
