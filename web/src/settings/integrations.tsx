/** Integrations: bots, webhooks, the ledger and voice messages, each with its state and what is missing. */

import type { Setting, Trigger } from "@gatepost/client";
import type { ComponentChildren } from "preact";

import { useLoad } from "../data/load.js";
import { listTriggers } from "../plans/load.js";
import { buildPath } from "../router.js";
import { describeState, describeTrigger } from "../triggers/describe.js";
import { Icon } from "../ui/icons.js";
import { Failure, Line, Skeleton } from "../ui/parts.js";
import { Part } from "./part.js";
import { SettingRows, useSettings } from "./values.js";

export function Integrations() {
  const { value: triggers, error, reload } = useLoad(listTriggers, []);
  const { value } = useSettings();
  if (triggers === undefined || value === undefined) return error === undefined ? <Skeleton /> : <Failure error={error} onRetry={reload} />;
  const find = (section: string): Setting[] => value.settings.filter(({ name }) => name.startsWith(`${section}.`));
  const bots = triggers.filter(({ provider }) => provider === "telegram");
  return (
    <>
      <Part title="Telegram bots" command="gatepost trigger add NAME --provider telegram">
        <TriggerRows triggers={bots} empty="No bot yet. BotFather gives you a token for one.">
          <a class="button small start" href="/triggers?new=telegram">
            <Icon name="plus" size={14} /> Add a bot
          </a>
        </TriggerRows>
      </Part>
      <Part title="Webhooks" command="gatepost trigger add NAME">
        <TriggerRows triggers={triggers.filter(({ provider }) => provider === "webhook")} empty="No webhook yet. GitHub, or any service that sends requests, can wake an agent by one.">
          <a class="button small start" href="/triggers?new=webhook">
            <Icon name="plus" size={14} /> Add a webhook
          </a>
        </TriggerRows>
      </Part>
      <Part title="Ledger" command="gatepost ledger topics">
        <State {...describeLedger(find("ledger"), find("hedera"))} />
        <SettingRows settings={[...find("ledger"), ...find("hedera")]} />
      </Part>
      <Part title="Voice messages" command="gatepost doctor">
        <State {...describeSpeech(find("speech"), bots.length > 0)} />
        <SettingRows settings={find("speech")} />
      </Part>
    </>
  );
}

function TriggerRows({ triggers, empty, children }: { triggers: readonly Trigger[]; empty: string; children: ComponentChildren }) {
  return (
    <>
      {triggers.length === 0 ? (
        <p class="card pad sm muted">{empty}</p>
      ) : (
        <ul class="card row-list">
          {triggers.map((trigger) => {
            const { name, tone } = describeState(trigger);
            return (
              <li key={trigger.name}>
                <a class="row line wrap" href={buildPath("triggers", trigger.name)}>
                  <Line text={trigger.name} limit={80} class="strong" />
                  <Line text={trigger.problem ?? trigger.error ?? describeTrigger(trigger)} limit={200} class="muted grow" />
                  <span class={`badge ${tone}`}>{name}</span>
                </a>
              </li>
            );
          })}
        </ul>
      )}
      {children}
    </>
  );
}

interface StateProps {
  text: string;
  tone: string;
  missing?: string;
}

function State({ text, tone, missing }: StateProps) {
  return (
    <p class="line wrap gap-2 sm">
      <span class={`badge ${tone}`}>{text}</span>
      {missing !== undefined && <span class="soft text">{missing}</span>}
    </p>
  );
}

function describeLedger(ledger: readonly Setting[], hedera: readonly Setting[]): StateProps {
  const url = readValue(ledger, "ledger.url") ?? "off";
  if (url === "off") return { text: "off", tone: "", missing: "Mail, notes and work events are recorded nowhere else." };
  if (!url.startsWith("hedera:")) return { text: "on this machine", tone: "accent" };
  const missing = ["hedera.operator_id", "hedera.operator_key_file"].filter((name) => readValue(hedera, name) === null);
  return missing.length > 0 ? { text: "cannot work", tone: "danger", missing: `It needs ${missing.join(" and ")}.` } : { text: url, tone: "accent" };
}

function describeSpeech(speech: readonly Setting[], hasBots: boolean): StateProps {
  const url = readValue(speech, "speech.url");
  if (url !== null) return { text: url === "local:" ? "on this machine" : "by a service", tone: "accent" };
  return { text: "off", tone: hasBots ? "warn" : "", missing: hasBots ? "Voice messages to your bots are passed on without their words, until speech.url is set." : "No bot takes voice messages." };
}

function readValue(settings: readonly Setting[], name: string): string | null {
  return settings.find((setting) => setting.name === name)?.value ?? null;
}
