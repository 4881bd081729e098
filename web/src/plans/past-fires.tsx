/** Fires that were: when they were due, who got them, and what became of them. */

import type { ItemState } from "@gatepost/client";

import { displayName, findEntity } from "../data/live.js";
import { isAdministrator, me } from "../data/session.js";
import { buildPath } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Avatar, Dots, Line } from "../ui/parts.js";
import { plural } from "../ui/text.js";
import { formatDuration, now, RelativeTime } from "../ui/time.js";
import type { PastFire } from "@gatepost/client";
import { formatMoment } from "./describe.js";
import type { RecentFire } from "./load.js";
import { pathOf } from "./load.js";

/** A slot that fires later than this is late. */
const LATE = 60_000;
/** How long an entry counts as new. */
const NEW = 6000;

const STATES: Record<ItemState, { name: string; tone: string }> = {
  pending: { name: "waits", tone: "" },
  claimed: { name: "is read", tone: "accent" },
  delivered: { name: "read", tone: "accent" },
  dead: { name: "dead", tone: "danger" },
  expired: { name: "expired", tone: "warn" },
  discarded: { name: "discarded", tone: "" },
};

/** Why not every fire is listed. */
export const FORGOTTEN = "Events that have ended are kept for a day, or as long as the setting inbox.remember says.";

/** The past fires of one plan or schedule. */
export function PastFires({ fires, total }: { fires: readonly PastFire[]; total?: number }) {
  // Each fire has an event; one of a trigger may have several recipients.
  const rest = (total ?? 0) - new Set(fires.map((fire) => fire.eventId)).size;
  return (
    <>
      <ol class="card row-list">
        {fires.map((fire) => (
          <li key={`${fire.eventId}:${fire.recipient}`} class={isNew(fire) ? "is-new" : ""}>
            <a class="row fire-row" href={itemPath(fire)}>
              <span class="number phone-1-1">{formatMoment(fire.dueAt ?? fire.firedAt)}</span>
              <span class="fire-late muted">{describeDelay(fire)}</span>
              <span class="phone-2-1 line">
                <Avatar name={displayName(fire.recipient)} kind={findEntity(fire.recipient)?.kind ?? "agent"} isSmall />
                <Line text={displayName(fire.recipient)} />
              </span>
              <FireState fire={fire} />
              <span class="number muted hide-phone">{fire.endedAt === null ? "" : formatDuration(Date.parse(fire.endedAt) - Date.parse(fire.firedAt))}</span>
              <span class="number muted phone-1-3">
                <RelativeTime time={fire.firedAt} />
              </span>
            </a>
          </li>
        ))}
      </ol>
      {rest > 0 && (
        <p class="past-rest muted sm">
          {plural(rest, "earlier fire")} {rest === 1 ? "is" : "are"} not shown. {FORGOTTEN}
        </p>
      )}
    </>
  );
}

/** The last fires of all plans and schedules. */
export function RecentFires({ fires }: { fires: readonly RecentFire[] }) {
  return (
    <ol class="card row-list" aria-live="polite" aria-label="Recent fires">
      {fires.map((fire) => (
        <li key={`${fire.eventId}:${fire.recipient}`} class={`row recent-fire quiet-icon ${isNew(fire) ? "is-new" : ""}`}>
          <Icon name={fire.kind === "plan" ? "clock" : "bolt"} size={14} />
          <div class="stack">
            <a class="accent-hover strong" href={pathOf(fire)}>
              <Line text={fire.name} limit={80} />
            </a>
            <a class="accent-hover line muted" href={itemPath(fire)}>
              <Line text={`to ${displayName(fire.recipient)}`} /> <FireState fire={fire} />
            </a>
          </div>
          <span class="muted number">
            <RelativeTime time={fire.firedAt} />
          </span>
        </li>
      ))}
    </ol>
  );
}

export function FireState({ fire }: { fire: PastFire }) {
  const { name, tone } = STATES[fire.state];
  return (
    <span class={`badge ${tone}`}>
      {fire.state === "claimed" && <Dots />} {name}
    </span>
  );
}

/** Return where the event of a fire is; others than the administrator see their own. */
export function itemPath(fire: PastFire): string | undefined {
  if (!isAdministrator.value && fire.recipient !== me.value) return undefined;
  return `${buildPath("inbox", fire.recipient, fire.eventId)}?state=all`;
}

function describeDelay({ dueAt, firedAt }: PastFire): string {
  const delay = dueAt === null ? 0 : Date.parse(firedAt) - Date.parse(dueAt);
  return delay < LATE ? "on time" : `${formatDuration(delay)} late`;
}

function isNew({ firedAt }: PastFire): boolean {
  return now.peek() - Date.parse(firedAt) < NEW;
}
