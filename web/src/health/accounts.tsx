/**
 * The accounts: no event vanishes, so what the inboxes have accepted is the sum over all states. A check looks at every
 * row, as `gatepost doctor` does.
 */

import type { Account, AccountPage, AccountTotal, ItemState } from "@gatepost/client";
import { Fragment } from "preact";
import { useState } from "preact/hooks";

import { displayName, findEntity } from "../data/live.js";
import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { buildPath, withFilters } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Avatar, Dots, Failure, Line, Skeleton } from "../ui/parts.js";
import { describeError, plural, toLine } from "../ui/text.js";

const STATES = ["pending", "claimed", "delivered", "expired", "dead", "discarded"] as const satisfies readonly ItemState[];
const TONES: Record<(typeof STATES)[number], string> = { pending: "rank-1", claimed: "rank-2", delivered: "rank-0", expired: "rank-5", dead: "is-danger", discarded: "is-rest" };
const FEW = 6;

interface AccountsProps {
  page: AccountPage | undefined;
  error: Error | undefined;
  /** How often somebody has asked for a check. */
  checks: number;
  onCheck: () => void;
}

export function Accounts({ page, error, checks, onCheck }: AccountsProps) {
  const [isWhole, setWhole] = useState(false);
  const list = page === undefined ? [] : page.items.slice(0, isWhole ? page.items.length : Math.max(FEW, page.total.unbalanced));
  return (
    <>
      <div class="section-head">
        <h2 id="accounts">Accounts</h2>
        {page !== undefined && (page.total.unbalanced === 0 ? <span class="badge accent">balanced</span> : <span class="badge danger">{plural(page.total.unbalanced, "inbox", "inboxes")} out of balance</span>)}
        <span class="grow" />
        <button class="button small" title="Check the store (c)" onClick={onCheck}>
          <Icon name="shield" size={13} /> Check the store
        </button>
      </div>
      {checks > 0 && <CheckResult key={checks} />}
      <div class="card">
        {page === undefined ? (
          error === undefined ? (
            <Skeleton rows={4} />
          ) : (
            <Failure error={error} />
          )
        ) : (
          <>
            <Identity total={page.total} />
            <div class="table-scroll" tabIndex={0} role="group" aria-label="Accounts of inboxes">
              <table class="table">
                <thead>
                  <tr>
                    <th scope="col">Inbox</th>
                    <th scope="col" class="number">
                      accepted
                    </th>
                    {STATES.map((state) => (
                      <th key={state} scope="col" class="number">
                        {state}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {list.map((account) => (
                    <AccountRow key={account.name} account={account} />
                  ))}
                </tbody>
              </table>
            </div>
            {page.total.inboxes > list.length && (
              <button class="button small quiet health-more" onClick={() => setWhole(true)} disabled={isWhole}>
                {isWhole ? `The first ${list.length} of ${page.total.inboxes} inboxes` : `Show ${plural(page.items.length - list.length, "more inbox", "more inboxes")}`}
              </button>
            )}
          </>
        )}
      </div>
    </>
  );
}

/** What was accepted, and the states that must add up to it. */
function Identity({ total }: { total: AccountTotal }) {
  const sum = STATES.reduce((count, state) => count + total[state], 0);
  const isBalanced = sum === total.accepted;
  return (
    <div class="stack gap-3 pad">
      <p class="identity-sum">
        <a class="identity-part stack xs muted" href="/items">
          <b>{total.accepted.toLocaleString("en")}</b> <span>accepted</span>
        </a>
        <span class={`identity-sign ${isBalanced ? "" : "is-bad"}`} aria-label={isBalanced ? "equals" : "does not equal"}>
          {isBalanced ? "=" : "≠"}
        </span>
        {STATES.map((state, index) => (
          <Fragment key={state}>
            {index > 0 && (
              <span class="identity-sign is-plus" aria-hidden="true">
                +
              </span>
            )}
            <a class="identity-part stack xs muted" href={withFilters("/items", { state })}>
              <b>{total[state].toLocaleString("en")}</b>{" "}
              <span>
                <i class={`swatch ${TONES[state]}`} /> {state}
              </span>
            </a>
          </Fragment>
        ))}
      </p>
      <div class="identity-bar" aria-hidden="true">
        {STATES.filter((state) => total[state] > 0).map((state) => (
          <i key={state} class={TONES[state]} style={{ flexGrow: total[state] }} />
        ))}
      </div>
      {!isBalanced && (
        <p class="notice danger" role="alert">
          {plural(Math.abs(total.accepted - sum), "item")} {total.accepted > sum ? "missing" : "too many"}: the states add up to {sum.toLocaleString("en")}. Nothing but a change of the store from outside does that; <code>gatepost doctor</code> says more.
        </p>
      )}
    </div>
  );
}

function AccountRow({ account }: { account: Account }) {
  const display = displayName(account.name);
  return (
    <tr class={account.balanced ? "" : "is-unbalanced"}>
      <th scope="row">
        <a class="account-name line gap-2" href={buildPath("inbox", account.name)}>
          <Avatar name={display} kind={findEntity(account.name)?.kind ?? "agent"} isSmall />
          <Line text={display} limit={60} />
          {!account.balanced && <span class="badge danger">out of balance</span>}
        </a>
      </th>
      <td class="number">
        <a href={`${buildPath("inbox", account.name)}?state=all`}>{account.accepted.toLocaleString("en")}</a>
      </td>
      {STATES.map((state) => (
        <td key={state} class="number">
          {account[state] === 0 ? <span class="muted">0</span> : <a href={`${buildPath("inbox", account.name)}?state=${state}`}>{account[state].toLocaleString("en")}</a>}
        </td>
      ))}
    </tr>
  );
}

function CheckResult() {
  const { value, error } = useLoad((signal) => client.checkStore({}, { signal }), []);
  if (value === undefined) {
    return error === undefined ? (
      <p class="notice is-quiet">
        <Dots /> Every row is looked at
      </p>
    ) : (
      <p class="notice danger">{describeError(error)}</p>
    );
  }
  const findings = [...value.unbalanced.map((name) => `the inbox of ${toLine(displayName(name), 60)} is out of balance`), ...value.orphans];
  if (findings.length === 0) {
    return (
      <p class="notice is-same check-result" role="status">
        <Icon name="check" size={14} /> Nothing was lost: {plural(value.accepted, "item")} in {plural(value.inboxes, "inbox", "inboxes")}, all accounted for, and no row belongs to nothing.
      </p>
    );
  }
  return (
    <div class="notice danger check-result" role="alert">
      <Icon name="alert" size={14} />
      <ul>
        {findings.map((finding, index) => (
          <li key={index} class="text">
            {toLine(finding, 300)}
          </li>
        ))}
      </ul>
    </div>
  );
}
