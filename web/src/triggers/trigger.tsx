/** One trigger: how it is reached, who gets what comes, what it has fired, and a test. */

import type { Trigger } from "@gatepost/client";
import { useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { isAboutFires, isAboutTriggers, useFollow } from "../plans/follow.js";
import { listNextFires } from "../plans/load.js";
import { NextCountdown } from "../plans/next-countdown.js";
import { PastFires } from "../plans/past-fires.js";
import { findSpan, SPANS } from "../plans/spans.js";
import { TimeLine } from "../plans/time-line.js";
import { buildPath, navigate, segments } from "../router.js";
import { ConfirmDialog } from "../ui/confirm-dialog.js";
import { CopyButton } from "../ui/copy-button.js";
import { useSubject } from "../title.js";
import { Icon } from "../ui/icons.js";
import { PlainText } from "../ui/markdown.js";
import { Empty, Failure, Line, Skeleton, Unloaded } from "../ui/parts.js";
import { formatJson, toLine } from "../ui/text.js";
import { attempt, showToast } from "../ui/toasts.js";
import { RelativeTime } from "../ui/time.js";
import { canOpen } from "../views.js";
import { AddressLink } from "./address-link.js";
import { Deliveries } from "./deliveries.js";
import { describeState, describeTrigger, providerIcon, providerName } from "./describe.js";
import { TriggerTest } from "./test.js";
import { TriggerDialog } from "./trigger-dialog.js";

const MAX_FIRES = 100;

export function TriggerPage({ name }: { name: string }) {
  const isTest = segments.value[2] === "test";
  const isLog = segments.value[2] === "deliveries";
  const { value: trigger, error, reload, refresh } = useLoad((signal) => client.showTrigger({ name }, { signal }), [name]);
  useFollow(refresh, isAboutTriggers);
  useSubject(trigger?.name);
  const [dialog, setDialog] = useState<"change" | "delete" | undefined>(undefined);
  const toggle = async () => {
    if (trigger === undefined) return;
    await attempt(() => client.changeTrigger({ name, active: !trigger.active }), trigger.active ? "Trigger disabled" : "Trigger enabled");
    reload();
  };
  const remove = async () => {
    if (await attempt(() => client.deleteTrigger({ name }))) {
      navigate("/triggers");
      showToast("Trigger deleted");
    }
  };
  useCommands([
    { id: "test-trigger", title: "Test a payload", group: "Trigger", keys: "t", run: () => navigate(buildPath("triggers", name, "test")) },
    { id: "trigger-deliveries", title: "Show what came through it", group: "Trigger", keys: "l", run: () => navigate(buildPath("triggers", name, "deliveries")) },
    { id: "toggle-trigger", title: trigger?.active === false ? "Enable this trigger" : "Disable this trigger", group: "Trigger", keys: "p", run: () => void toggle() },
    { id: "change-trigger", title: "Change this trigger", group: "Trigger", keys: "e", run: () => setDialog("change") },
    { id: "delete-trigger", title: "Delete this trigger", group: "Trigger", keys: "#", run: () => setDialog("delete") },
    { id: "back", title: "Back", group: "Trigger", keys: "Escape", run: () => navigate(isTest || isLog ? buildPath("triggers", name) : "/triggers"), isKeyOnly: true },
  ]);
  if (trigger === undefined) return <Unloaded title="Trigger" back="/triggers" backLabel="All triggers" error={error} onRetry={reload} />;
  const { name: state, tone } = describeState(trigger);
  return (
    <>
      <header class="view-head">
        <a class="icon-button" href="/triggers" aria-label="All triggers">
          <Icon name="back" />
        </a>
        <Icon name={providerIcon(trigger.provider)} />
        <h1 class="line-text">
          <Line text={trigger.name} limit={80} />
        </h1>
        <span class={`badge ${tone}`}>{state}</span>
        <span class="grow" />
        <button class="button" title={trigger.active ? "Disable (p)" : "Enable (p)"} onClick={() => void toggle()}>
          <Icon name={trigger.active ? "pause" : "play"} size={14} /> <span class="hide-phone">{trigger.active ? "Disable" : "Enable"}</span>
        </button>
        {!trigger.isFromFile && (
          <>
            <button class="button" title="Change (e)" onClick={() => setDialog("change")}>
              <Icon name="note" size={14} /> <span class="hide-phone">Change</span>
            </button>
            <button class="button danger" title="Delete (#)" onClick={() => setDialog("delete")}>
              <Icon name="trash" size={14} /> <span class="hide-phone">Delete</span>
            </button>
          </>
        )}
      </header>
      <nav class="tabs view-bar" aria-label="About the trigger">
        <a class="tab" href={buildPath("triggers", name)} aria-current={isTest || isLog ? undefined : "page"}>
          About
        </a>
        {hasDeliveries(trigger) && (
          <a class="tab" href={buildPath("triggers", name, "deliveries")} aria-current={isLog ? "page" : undefined}>
            Deliveries
          </a>
        )}
        <a class="tab" href={buildPath("triggers", name, "test")} aria-current={isTest ? "page" : undefined}>
          Test
        </a>
      </nav>
      <div class="view-body top stack gap-5">
        {isTest ? <TriggerTest trigger={trigger} /> : isLog ? <Deliveries trigger={trigger} /> : <About trigger={trigger} />}
      </div>
      {dialog === "change" && <TriggerDialog trigger={trigger} onClose={() => setDialog(undefined)} onDone={reload} />}
      {dialog === "delete" && (
        <ConfirmDialog title="Delete this trigger?" action="Delete" onClose={() => setDialog(undefined)} onConfirm={remove}>
          Nothing comes through “{toLine(trigger.name, 80)}” any more. The events that came stay. A bot with conversations can only be closed.
        </ConfirmDialog>
      )}
    </>
  );
}

/** The fires of a schedule are on its page; what people write to a bot is in its sessions. */
function hasDeliveries({ schedule, provider }: Trigger): boolean {
  return schedule === null && provider !== "telegram";
}

function About({ trigger }: { trigger: Trigger }) {
  return (
    <>
      {trigger.problem !== undefined && <p class="notice danger text">{toLine(trigger.problem, 400)}</p>}
      {trigger.error !== null && <p class="notice danger text">{toLine(trigger.error, 400)}</p>}
      {trigger.isFromFile && <p class="notice">It is set in gatepost.toml, and can only be changed there. Disable and enable work here.</p>}
      <dl class="facts trigger-facts">
        <dt>Provider</dt>
        <dd class="text">{trigger.provider === "webhook" ? providerName(trigger.provider) : `${providerName(trigger.provider)}: ${describeTrigger(trigger)}`}</dd>
        {trigger.provider === "webhook" && <dt>Address</dt>}
        {trigger.provider === "webhook" && (
          <dd class="line">
            <code class="line-text">{`${location.origin}/hooks/${trigger.name}`}</code>
            <CopyButton text={`${location.origin}/hooks/${trigger.name}`} label="Copy the address" />
          </dd>
        )}
        {trigger.scheme !== null && <dt>Authentication</dt>}
        {trigger.scheme !== null && <dd>{trigger.scheme === "header" ? "the secret in the header X-Secret-Key" : `as ${trigger.scheme} does it`}</dd>}
        {trigger.nextAt !== null && <dt>Next</dt>}
        {trigger.nextAt !== null && (
          <dd>
            <NextCountdown time={trigger.nextAt} />
          </dd>
        )}
        {trigger.heartbeat?.activeHours && <dt>Hours</dt>}
        {trigger.heartbeat?.activeHours && <dd>{`${trigger.heartbeat.activeHours.join(" to ")} h, ${trigger.schedule?.zone ?? "UTC"}`}</dd>}
        <dt>Goes to</dt>
        <dd>
          {trigger.target === null ? (
            canOpen("/routes") ? (
              <a class="link" href="/routes">
                whom the rules choose
              </a>
            ) : (
              "whom the rules choose"
            )
          ) : (
            <>
              <AddressLink address={trigger.target} />
              <span class="muted">, unless a rule decides</span>
            </>
          )}
        </dd>
        <dt>Owner</dt>
        <dd>
          <AddressLink address={trigger.owner} />
        </dd>
        {trigger.session !== null && <dt>Session</dt>}
        {trigger.session !== null && (
          <dd>
            <code class="text">{toLine(trigger.session, 200)}</code>
          </dd>
        )}
        {trigger.requires.length > 0 && <dt>Requires</dt>}
        {trigger.requires.length > 0 && <dd class="text">{toLine(trigger.requires.join(", "), 300)}</dd>}
        {trigger.token !== null && <dt>Token</dt>}
        {trigger.token !== null && (
          <dd>
            <code class="text">{toLine(trigger.token, 120)}</code>
          </dd>
        )}
        {trigger.groups !== null && <dt>In groups</dt>}
        {trigger.groups !== null && <dd>{{ all: "it reads everything", mention: "it reads what mentions it", off: "it reads nothing" }[trigger.groups]}</dd>}
        {trigger.allow.length > 0 && <dt>Allowed</dt>}
        {trigger.allow.length > 0 && <dd>{trigger.allow.join(", ")}</dd>}
        {trigger.block.length > 0 && <dt>Blocked</dt>}
        {trigger.block.length > 0 && <dd>{trigger.block.join(", ")}</dd>}
        {trigger.groups !== null && <dt>Channel</dt>}
        {trigger.groups !== null && (
          <dd>
            <a class="link" href={`/channels/sessions?channel=${encodeURIComponent(trigger.name)}`}>
              its sessions
            </a>
          </dd>
        )}
        <dt>Since</dt>
        <dd>
          <RelativeTime hasAgo time={trigger.createdAt} />
        </dd>
      </dl>
      {trigger.prompt !== null && (
        <section class="plan-section stack top gap-2" aria-label="Prompt">
          <h2>{trigger.schedule === null ? "Added to every event" : "What it says"}</h2>
          <PlainText text={trigger.prompt} />
        </section>
      )}
      {trigger.templates.length > 0 && (
        <section class="plan-section stack top gap-2" aria-label="Templates">
          <h2>Templates</h2>
          <PlainText text={formatJson(trigger.templates)} />
        </section>
      )}
      {trigger.schedule !== null && <ScheduleFires trigger={trigger} />}
    </>
  );
}

function ScheduleFires({ trigger }: { trigger: Trigger }) {
  const { name } = trigger;
  const past = useLoad((signal) => client.listTriggerFires({ name, limit: MAX_FIRES }, { signal }), [name]);
  const span = findSpan(trigger.nextAt);
  const next = useLoad(async (signal) => {
    const { fires, until } = await listNextFires(signal, { within: span ?? "7d" }, [], [trigger]);
    return { fires: fires.filter((fire) => fire.kind === "trigger" && fire.id === name), until };
  }, [name, span ?? "", trigger.nextAt]);
  useFollow(past.refresh, isAboutFires);
  return (
    <>
      {span !== undefined && next.value !== undefined && next.value.fires.length > 0 && (
        <section class="plan-section stack top gap-2" aria-label="Next fires">
          <h2>In the next {SPANS[span].name}</h2>
          <div class="card time-line-card">
            <TimeLine fires={next.value.fires} until={next.value.until} past={past.value?.items.map(({ firedAt }) => ({ kind: "trigger", id: name, firedAt })) ?? []} span={span} isSingle />
          </div>
        </section>
      )}
      <section class="plan-section stack top gap-2" aria-labelledby="past-fires">
        <h2 id="past-fires">Past runs</h2>
        {past.value === undefined ? (
          past.error === undefined ? <Skeleton rows={3} /> : <Failure error={past.error} onRetry={past.reload} />
        ) : past.value.items.length === 0 ? (
          <div class="card">
            <Empty icon="clock" title="It has not fired in the last day">
              <p>{trigger.heartbeat === null ? "You see it here the moment it does." : "A heartbeat fires only if its recipient has something to do."}</p>
            </Empty>
          </div>
        ) : (
          <PastFires fires={past.value.items} />
        )}
      </section>
    </>
  );
}
