/** Pairing: users of bots who ask to be let in. A name on a channel proves nothing; the code that the bot gave does. */

import type { Pairing, PairingState } from "@gatepost/client";
import { useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { displayName } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { isAboutTriggers, useFollow } from "../plans/follow.js";
import { buildPath, changeQuery, query } from "../router.js";
import { TriggersHead } from "../triggers/head.js";
import { ConfirmDialog } from "../ui/confirm-dialog.js";
import { Icon } from "../ui/icons.js";
import { Avatar, Empty, Failure, Line, Skeleton } from "../ui/parts.js";
import { useRowKeys } from "../ui/row-keys.js";
import { toLine } from "../ui/text.js";
import { attempt } from "../ui/toasts.js";
import { Countdown, RelativeTime } from "../ui/time.js";
import { ApproveDialog } from "./approve-dialog.js";

const STATES: Record<PairingState, { name: string; tone: string }> = {
  requested: { name: "Waiting", tone: "warn" },
  approved: { name: "Let in", tone: "accent" },
  denied: { name: "Refused", tone: "" },
  expired: { name: "Expired", tone: "" },
};

type Question = { kind: "approve" | "end"; pairing: Pairing } | { kind: "code" };

export function Pairings() {
  const wanted = query.value.get("state") ?? "requested";
  const state: PairingState = wanted in STATES ? (wanted as PairingState) : "requested";
  const { value, error, reload, refresh } = useLoad((signal) => client.listPairings({ limit: 1000 }, { signal }), []);
  useFollow(refresh, isAboutTriggers);
  const [question, setQuestion] = useState<Question | undefined>(undefined);
  const chosen = (value?.items ?? []).filter((pairing) => pairing.state === state);
  const list = state === "requested" ? chosen : chosen.toReversed(); // who waits longest is first
  const approve = (pairing: Pairing | undefined) => pairing?.state === "requested" && setQuestion({ kind: "approve", pairing });
  const refuse = async (pairing: Pairing | undefined) => {
    if (pairing?.state !== "requested") return;
    await attempt(() => client.refusePairing({ code: pairing.id }), "Refused; the user is not told");
    reload();
  };
  const end = async (pairing: Pairing) => {
    await attempt(() => client.endPairing({ id: pairing.id }), "The pairing has ended");
    reload();
  };
  const { index, item } = useRowKeys("Pairing", list, approve);
  useCommands([
    { id: "approve-pairing", title: "Let the selected user in", group: "Pairing", keys: "a", run: () => void approve(item ?? list[0]) },
    { id: "refuse-pairing", title: "Refuse the selected user", group: "Pairing", keys: "#", run: () => void refuse(item) },
    { id: "enter-code", title: "Enter a pairing code", group: "Pairing", keys: "c", run: () => setQuestion({ kind: "code" }) },
  ]);
  return (
    <>
      <TriggersHead>
        <button class="button" title="Enter a code (c)" onClick={() => setQuestion({ kind: "code" })}>
          <Icon name="check" size={14} /> <span class="hide-phone">Enter a code</span>
        </button>
      </TriggersHead>
      <div class="view-body top stack gap-3">
        <nav class="tabs" aria-label="Which users">
          {(Object.keys(STATES) as PairingState[]).map((name) => (
            <button key={name} class="tab small" aria-current={name === state ? "page" : undefined} onClick={() => changeQuery({ state: name === "requested" ? undefined : name })}>
              {STATES[name].name} <span class="number">{value?.items.filter((pairing) => pairing.state === name).length}</span>
            </button>
          ))}
        </nav>
        {value === undefined ? (
          error === undefined ? <Skeleton /> : <Failure error={error} onRetry={reload} />
        ) : list.length === 0 ? (
          <Empty icon="person" title={state === "requested" ? "Nobody waits to be let in" : `${STATES[state].name}: nobody`}>
            <p>Whoever writes to a bot for the first time gets a code, and waits here until you let them in.</p>
            {state === "requested" && (
              <a class="button" href="/triggers?provider=telegram">
                See the bots
              </a>
            )}
          </Empty>
        ) : (
          <ul class="card row-list">
            {list.map((pairing, position) => (
              <li key={pairing.id} class={`row is-tall pairing-row ${position === index ? "is-selected" : ""}`}>
                <Avatar name={pairing.userName} kind="human" />
                <div class="stack">
                  <Line text={pairing.userName} class="plan-name strong" />
                  <span class="muted stack xs">
                    <Line text={`user ${pairing.userId}, chat ${pairing.chat}`} />
                  </span>
                </div>
                <span class="phone-2-2 line">
                  <span class="muted">to</span>
                  <a class="link address-link" href={buildPath("triggers", pairing.trigger)}>
                    <Line text={pairing.trigger} />
                  </a>
                </span>
                <PairingWhen pairing={pairing} />
                <span class="phone-2-3 line">
                  {pairing.state === "requested" && (
                    <>
                      <button class="button small primary" onClick={() => approve(pairing)}>
                        Let in
                      </button>
                      <button class="button small" onClick={() => void refuse(pairing)}>
                        Refuse
                      </button>
                    </>
                  )}
                  {pairing.state === "approved" && (
                    <button class="button small danger" onClick={() => setQuestion({ kind: "end", pairing })}>
                      End
                    </button>
                  )}
                </span>
              </li>
            ))}
          </ul>
        )}
      </div>
      {question?.kind === "approve" && <ApproveDialog pairing={question.pairing} onClose={() => setQuestion(undefined)} onDone={reload} />}
      {question?.kind === "code" && <ApproveDialog onClose={() => setQuestion(undefined)} onDone={reload} />}
      {question?.kind === "end" && (
        <ConfirmDialog title="End this pairing?" action="End the pairing" onClose={() => setQuestion(undefined)} onConfirm={() => end(question.pairing)}>
          {toLine(question.pairing.userName, 80)} has to ask again, and nothing more is sent to the chat.
        </ConfirmDialog>
      )}
    </>
  );
}

function PairingWhen({ pairing }: { pairing: Pairing }) {
  if (pairing.state === "requested") {
    return (
      <span class="phone-1-3 line">
        <Countdown time={pairing.expiresAt} />
      </span>
    );
  }
  return (
    <span class="phone-1-3 line muted">
      {pairing.person !== null && <Line text={`as ${displayName(pairing.person)}`} />} <RelativeTime hasAgo time={pairing.answeredAt ?? pairing.expiresAt} />
    </span>
  );
}
