/** The fields of a trigger that only one provider has. */

import type { DeliveryMode, GroupMode, Trigger } from "@gatepost/client";
import { useState } from "preact/hooks";

import { describeCron, OWN_ZONE } from "../plans/describe.js";
import { toLocalTime } from "../plans/plan-dialog.js";
import { ZoneField } from "../plans/zone-field.js";

type When = "cron" | "every" | "at";

/** When a schedule fires. */
export function ScheduleFields({ trigger }: { trigger: Trigger | undefined }) {
  const schedule = trigger?.schedule;
  const [when, setWhen] = useState<When>(schedule?.every ? "every" : schedule?.at ? "at" : "cron");
  const [cron, setCron] = useState(schedule?.cron ?? "0 9 * * 1-5");
  const hours = trigger?.heartbeat?.activeHours;
  return (
    <>
      <div class="field-pair">
        <label class="label">
          When
          <select class="field" name="when" value={when} onChange={(event) => setWhen(event.currentTarget.value as When)}>
            <option value="cron">by a cron expression</option>
            <option value="every">in an interval</option>
            <option value="at">once, at a time</option>
          </select>
        </label>
        {when === "cron" && (
          <label class="label">
            Minute, hour, day, month, weekday
            <input class="field code-field" name="cron" value={cron} onInput={(event) => setCron(event.currentTarget.value)} required autoComplete="off" spellcheck={false} />
          </label>
        )}
        {when === "every" && (
          <label class="label">
            Interval
            <input class="field" name="every" required placeholder="30m" defaultValue={schedule?.every ?? "30m"} autoComplete="off" />
          </label>
        )}
        {when === "at" && (
          <label class="label">
            Time, by your clock
            <input class="field" name="at" type="datetime-local" required step={1} defaultValue={toLocalTime(schedule?.at ?? null)} />
          </label>
        )}
      </div>
      {when === "cron" && <p class="field-note text">{`It fires ${describeCron(cron, OWN_ZONE)}.`}</p>}
      <div class="field-pair">
        <ZoneField name="zone" zone={schedule?.zone ?? OWN_ZONE} />
        <label class="label">
          Heartbeat
          <input
            class="field"
            name="heartbeat"
            pattern="always|\d{1,2}-\d{1,2}"
            title="always, or hours such as 8-22"
            placeholder="always, or hours: 8-22"
            defaultValue={trigger?.heartbeat ? (hours ? hours.join("-") : "always") : ""}
            autoComplete="off"
          />
        </label>
      </div>
      <p class="field-note">A heartbeat fires only if its recipient has something to do.</p>
    </>
  );
}

export function readSchedule(read: (name: string) => string): object {
  const when = read("when") as When;
  const zone = read("zone") || "UTC";
  const schedule = when === "cron" ? { cron: read("cron"), zone } : when === "every" ? { every: read("every"), zone } : { at: new Date(read("at")).toISOString(), zone };
  const heartbeat = read("heartbeat");
  const hours = /^(\d+)-(\d+)$/.exec(heartbeat);
  return { schedule, heartbeat: heartbeat === "" ? null : { activeHours: hours === null ? null : [Number(hours[1]), Number(hours[2])] } };
}

/** Who writes to a bot, and how it hears of it. */
export function BotFields({ trigger }: { trigger: Trigger | undefined }) {
  return (
    <>
      <label class="label">
        Token of the bot
        <input class="field code-field" name="token" type="password" required={trigger === undefined} placeholder={trigger === undefined ? "from BotFather, or env:VARIABLE" : "as it is"} autoComplete="new-password" />
      </label>
      <div class="field-pair">
        <label class="label">
          Allow these ids
          <input class="field" name="allow" pattern="[\-0-9, ]*" defaultValue={trigger?.allow.join(", ") ?? ""} placeholder="empty: they ask for a pairing" autoComplete="off" />
        </label>
        <label class="label">
          Block these ids
          <input class="field" name="block" pattern="[\-0-9, ]*" defaultValue={trigger?.block.join(", ") ?? ""} autoComplete="off" />
        </label>
        <label class="label">
          In groups it reads
          <select class="field" name="groups">
            {(["mention", "all", "off"] as const).map((mode) => (
              <option key={mode} value={mode} selected={mode === (trigger?.groups ?? "mention")}>
                {{ mention: "what mentions it", all: "everything", off: "nothing" }[mode]}
              </option>
            ))}
          </select>
        </label>
        <label class="label">
          Messages come
          <select class="field" name="mode">
            {(["polling", "webhook"] as const).map((mode) => (
              <option key={mode} value={mode} selected={mode === (trigger?.mode ?? "polling")}>
                {{ polling: "when the gateway asks", webhook: "when Telegram calls" }[mode]}
              </option>
            ))}
          </select>
        </label>
      </div>
      <label class="label">
        Address of this gateway, if Telegram calls
        <input class="field" name="publicUrl" type="url" defaultValue={trigger?.publicUrl ?? ""} placeholder="https://gateway.example.org" autoComplete="off" />
      </label>
    </>
  );
}

export function readBot(read: (name: string) => string): object {
  const token = read("token");
  return {
    ...(token === "" ? {} : { token }),
    allow: readIds(read("allow")),
    block: readIds(read("block")),
    groups: read("groups") as GroupMode,
    mode: read("mode") as DeliveryMode,
    publicUrl: read("publicUrl") || null,
  };
}

function readIds(text: string): number[] | null {
  const ids = text.split(/[\s,]+/).filter(Boolean).map(Number);
  return ids.length === 0 ? null : ids;
}
