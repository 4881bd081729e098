/** What came through a trigger: when, what it was, who got it, and what became of it; each can be sent again. */

import type { PastFire, Trigger, UnroutedMessage } from "@gatepost/client";

import { displayName } from "../data/live.js";
import { useInterval, useLoad } from "../data/load.js";
import { client, isAdministrator } from "../data/session.js";
import { isAboutFires, useFollow } from "../plans/follow.js";
import { FireState, FORGOTTEN, itemPath } from "../plans/past-fires.js";
import { buildPath } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Empty, Failure, Line, Skeleton } from "../ui/parts.js";
import { stripMarks, toLine } from "../ui/text.js";
import { attempt, showToast } from "../ui/toasts.js";
import { RelativeTime } from "../ui/time.js";
import { letterText } from "./describe.js";
import { LetterState } from "./letter-state.js";

const MAX_DELIVERIES = 200;
/** Milliseconds between two looks: nothing tells of what another agent has read. */
const INTERVAL = 10_000;

type Delivery = { at: string; fire: PastFire } | { at: string; letter: UnroutedMessage };

export function Deliveries({ trigger }: { trigger: Trigger }) {
  const { name } = trigger;
  const { value, error, reload, refresh } = useLoad((signal) => loadDeliveries(name, signal), [name]);
  useFollow(refresh, isAboutFires);
  useInterval(refresh, INTERVAL);
  if (value === undefined) return error === undefined ? <Skeleton /> : <Failure error={error} onRetry={reload} />;
  if (value.length === 0) {
    return (
      <Empty icon="inbox" title="Nothing came through it in the last day">
        <p>What it lets through is listed here at once. A request with a wrong secret or signature is refused, and not kept.</p>
      </Empty>
    );
  }
  const run = (action: () => Promise<string>) => void attempt(async () => showToast(await action())).then(reload);
  return (
    <>
      <ol class="card row-list" aria-label="Deliveries">
        {value.map((delivery) => ("fire" in delivery ? <FireRow key={`${delivery.fire.eventId}:${delivery.fire.recipient}`} fire={delivery.fire} run={run} /> : <LetterRow key={delivery.letter.id} letter={delivery.letter} run={run} />))}
      </ol>
      <p class="muted sm">{FORGOTTEN}</p>
    </>
  );
}

interface RowProps {
  run: (action: () => Promise<string>) => void;
}

function FireRow({ fire, run }: RowProps & { fire: PastFire }) {
  const replay = async () => {
    await client.replayEvent({ id: fire.eventId, name: fire.recipient });
    return `Pending again for ${toLine(displayName(fire.recipient), 60)}`;
  };
  return (
    <li class="row delivery-row">
      <a class="accent-hover line" href={itemPath(fire)}>
        <Line text={fire.subject ?? (stripMarks(fire.content) || "the payload")} />
      </a>
      <Line text={displayName(fire.recipient)} class="muted delivery-to" />
      <FireState fire={fire} />
      <span class="number muted">
        <RelativeTime time={fire.firedAt} />
      </span>
      {isAdministrator.value && fire.state !== "pending" && fire.state !== "claimed" ? (
        <button class="button small" onClick={() => run(replay)}>
          <Icon name="replay" size={14} /> Replay
        </button>
      ) : (
        <span />
      )}
    </li>
  );
}

function LetterRow({ letter, run }: RowProps & { letter: UnroutedMessage }) {
  const replay = async () => {
    const { targets } = await client.replayDeadLetter({ id: letter.id });
    return `Sent to ${toLine(targets.map(displayName).join(", "), 80)}`;
  };
  return (
    <li class="row delivery-row">
      <a class="accent-hover line" href={buildPath("unrouted", letter.id)}>
        <Line text={letterText(letter)} />
      </a>
      <span class="muted delivery-to">nobody</span>
      <LetterState letter={letter} />
      <span class="number muted">
        <RelativeTime time={letter.createdAt} />
      </span>
      {letter.replayedAt === null && letter.discardedAt === null ? (
        <button class="button small" onClick={() => run(replay)}>
          <Icon name="replay" size={14} /> Replay
        </button>
      ) : (
        <span />
      )}
    </li>
  );
}

/** Unrouted messages are for the administrator, and for those who make rules. */
async function loadDeliveries(name: string, signal: AbortSignal): Promise<Delivery[]> {
  const fires = await client.listTriggerFires({ name, limit: MAX_DELIVERIES }, { signal });
  const letters = isAdministrator.value ? (await client.listDeadLetters({ replayed: true, limit: 1000 }, { signal })).items : [];
  const list: Delivery[] = [
    ...fires.items.map((fire) => ({ at: fire.firedAt, fire })),
    ...letters.filter((letter) => letter.trigger === name).map((letter) => ({ at: letter.createdAt, letter })),
  ];
  return list.toSorted((a, b) => b.at.localeCompare(a.at));
}
