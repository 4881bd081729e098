/** The head of the views about what comes from outside, with how much waits in each. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { useLoad } from "../data/load.js";
import { client, isAdministrator } from "../data/session.js";
import { isAboutTriggers, useFollow } from "../plans/follow.js";
import { path } from "../router.js";
import { canOpen } from "../views.js";

const COUNT_LIMIT = 100;

/** By address: the name of a tab. */
const TABS = [
  ["/triggers", "Triggers"],
  ["/routes", "Rules"],
  ["/unrouted", "Unrouted"],
  ["/channels", "Channels"],
  ["/channels/sessions", "Sessions"],
  ["/channels/pairing", "Pairing"],
] as const;

export function TriggersHead({ children }: { children?: ComponentChildren }) {
  const { value: counts, refresh } = useLoad(countWaiting, [isAdministrator.value]);
  useFollow(refresh, isAboutTriggers);
  const tabs = useRef<HTMLElement>(null);
  useEffect(() => tabs.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }), [path.value, counts]);
  return (
    <header class="view-head">
      <h1 class="triggers-title">Triggers</h1>
      <nav ref={tabs} class="tabs grow" aria-label="What comes from outside">
        {TABS.filter(([address]) => canOpen(address)).map(([address, label]) => (
          <a key={address} class="tab" href={address} aria-current={path.value === address || (address !== "/channels" && path.value.startsWith(`${address}/`)) ? "page" : undefined}>
            {label} <TabCount count={counts?.[address]} tone={address === "/channels" ? "danger" : "warn"} />
          </a>
        ))}
      </nav>
      {children}
    </header>
  );
}

function TabCount({ count, tone }: { count: number | undefined; tone: string }) {
  if (count === undefined || count === 0) return null;
  return <span class={`badge ${tone}`}>{count >= COUNT_LIMIT ? `${COUNT_LIMIT}+` : count}</span>;
}

/** Count what waits for somebody, by address. */
async function countWaiting(signal: AbortSignal): Promise<Record<string, number>> {
  if (!isAdministrator.value) return {};
  const [letters, channels] = await Promise.all([client.listDeadLetters({ limit: COUNT_LIMIT }, { signal }), client.listChannels({ limit: 500 }, { signal })]);
  return {
    "/unrouted": letters.items.length,
    "/channels": channels.items.filter((channel) => channel.error !== null).length,
    "/channels/pairing": channels.items.reduce((sum, channel) => sum + channel.requests, 0),
  };
}
