/** Routing rules, in the order in which they decide, and what happens if none does. */

import "../plans/plans.css";
import "./triggers.css";

import type { Route } from "@gatepost/client";

import { useCommands } from "../commands.js";
import { displayName } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { isAboutTriggers, useFollow } from "../plans/follow.js";
import { buildPath, navigate, query, segments } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Failure, Line, Skeleton } from "../ui/parts.js";
import { useRowKeys } from "../ui/row-keys.js";
import { toLine } from "../ui/text.js";
import { attempt, showToast } from "../ui/toasts.js";
import { AddressLink } from "./address-link.js";
import { describeFilter, sortRules } from "./describe.js";
import { TriggersHead } from "./head.js";
import { RouteForm } from "./route-form.js";

const MAX_CHIPS = 3;

export default function Routes() {
  const opened = segments.value[1];
  const newChannel = query.value.get("new");
  const { value, error, reload, refresh } = useLoad((signal) => client.listRoutes({ limit: 1000 }, { signal }), []);
  useFollow(refresh, isAboutTriggers);
  const list = sortRules(value?.items ?? []);
  const open = list.find((rule) => rule.id === opened || rule.name === opened); // a preview names its rule by its name
  const toggle = (rule: Route) => navigate(rule === open ? "/routes" : buildPath("routes", rule.id), { replace: true });
  /** A rule that was made for an unrouted message is applied to it at once. */
  const leave = async (id: string | undefined) => {
    const letter = query.value.get("replay");
    if (id !== undefined && letter !== null) {
      await attempt(async () => {
        const { targets } = await client.replayDeadLetter({ id: letter });
        showToast(`Rule added, and the message was sent to ${toLine(targets.map(displayName).join(", "), 80)}`);
      });
    }
    reload();
    navigate(id === undefined ? "/routes" : buildPath("routes", id));
  };
  const setActive = async (rule: Route) => {
    await attempt(() => client.changeRoute({ id: rule.id, active: !rule.active }), rule.active ? "Rule disabled" : "Rule enabled");
    reload();
  };
  const { index, item } = useRowKeys("Rules", list, toggle);
  useCommands([
    { id: "new-rule", title: "Add a rule", group: "Rules", keys: "c", run: () => navigate("/routes?new=*") },
    { id: "toggle-rule", title: "Enable or disable the selected rule", group: "Rules", keys: "p", run: () => void ((open ?? item) && setActive((open ?? item) as Route)) },
    { id: "close-rule", title: "Close the rule", group: "Rules", keys: "Escape", run: () => navigate("/routes"), isKeyOnly: true },
  ]);
  return (
    <>
      <TriggersHead>
        <a class="button" href="/routes?new=*" title="New rule (c)">
          <Icon name="plus" size={14} /> <span class="hide-phone">New rule</span>
        </a>
      </TriggersHead>
      <div class="view-body top stack gap-3">
        <p class="line gap-2 sm soft">Of the rules that match a message, the first in this list decides who gets it.</p>
        {newChannel !== null && (
          <div class="card stack gap-3 pad">
            <h2>New rule</h2>
            <RouteForm channel={newChannel} draft={{ name: query.value.get("name") ?? "", filters: query.value.get("filters") ?? "" }} onEnd={(id) => void leave(id)} />
          </div>
        )}
        {value === undefined ? (
          error === undefined ? <Skeleton /> : <Failure error={error} onRetry={reload} />
        ) : (
          <ol class="card row-list">
            {list.map((rule, position) => (
              <li key={rule.id} class={`rule ${position === index ? "is-selected" : ""} ${rule.active ? "" : "is-closed"}`}>
                <RuleRow rule={rule} isOpen={rule === open} onToggle={() => toggle(rule)} onActive={() => void setActive(rule)} />
                {rule === open && (
                  <div class="row-more rule-more">
                    <RouteForm rule={rule} onEnd={() => (reload(), navigate("/routes", { replace: true }))} />
                  </div>
                )}
              </li>
            ))}
            <DefaultRule isOnly={list.length === 0} />
          </ol>
        )}
      </div>
    </>
  );
}

function RuleRow({ rule, isOpen, onToggle, onActive }: { rule: Route; isOpen: boolean; onToggle: () => void; onActive: () => void }) {
  const filters = Object.entries(rule.filters);
  return (
    <div class="row rule-row">
      <button class="row rule-open" aria-expanded={isOpen} onClick={onToggle}>
        <span class="strong soft number" title="Its rank">
          {rule.rank}
        </span>
        <span class="stack">
          <Line text={rule.name} class="plan-name strong" />
          <span class="muted stack xs">
            <Line text={`by ${displayName(rule.madeBy)}`} />
          </span>
        </span>
        <span class="rule-filters phone-2-2 line wrap">
          <code class="chip">{rule.channel === "*" ? "any channel" : rule.channel}</code>
          {filters.slice(0, MAX_CHIPS).map(([path, value]) => (
            <code key={path} class="chip">
              <Line text={describeFilter(path, value)} limit={120} />
            </code>
          ))}
          {filters.length > MAX_CHIPS && <span class="muted">and {filters.length - MAX_CHIPS} more</span>}
        </span>
      </button>
      <span class="rule-targets quiet-icon line">
        <Icon name="chevron" size={12} />
        {rule.targets.slice(0, MAX_CHIPS).map((target) => (
          <AddressLink key={target} address={target} />
        ))}
        {rule.targets.length > MAX_CHIPS && <span class="muted">+{rule.targets.length - MAX_CHIPS}</span>}
      </span>
      <button class="switch" role="switch" aria-checked={rule.active} aria-label={`Rule ${rule.name.slice(0, 60)}`} title={rule.active ? "Disable" : "Enable"} onClick={onActive} />
    </div>
  );
}

/** What decides if no rule does. */
function DefaultRule({ isOnly }: { isOnly: boolean }) {
  return (
    <li class="rule is-default">
      <div class="row rule-row">
        <div class="row rule-open">
          <span class="strong soft number">–</span>
          <span class="stack">
            <span class="plan-name strong">{isOnly ? "No rules yet" : "Otherwise"}</span>
            <span class="muted">the agent that the trigger names, else the agent user-agent, else the agent with the role System4</span>
          </span>
        </div>
        <a class="link" href="/unrouted">
          else unrouted
        </a>
      </div>
    </li>
  );
}
