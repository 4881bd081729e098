/** Channels, on which people write: whether they work, their sessions, and the users who ask to be let in. */

import "../plans/plans.css";
import "../triggers/triggers.css";

import type { ChannelStatus } from "@gatepost/client";

import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { isAboutTriggers, useFollow } from "../plans/follow.js";
import { buildPath, navigate, segments } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Failure, Line, Skeleton } from "../ui/parts.js";
import { useRowKeys } from "../ui/row-keys.js";
import { plural } from "../ui/text.js";
import { providerName } from "../triggers/describe.js";
import { TriggersHead } from "../triggers/head.js";
import { Pairings } from "./pairing.js";
import { Sessions } from "./sessions.js";

/** Channels that are built in, and where people write there. */
const BUILT_IN: Record<string, string> = { cli: "the command line: gatepost chat", web: "this page" };

export default function Channels() {
  const part = segments.value[1];
  return part === "sessions" ? <Sessions /> : part === "pairing" ? <Pairings /> : <ChannelList />;
}

function ChannelList() {
  const { value, error, reload, refresh } = useLoad((signal) => client.listChannels({ limit: 1000 }, { signal }), []);
  useFollow(refresh, (event) => isAboutTriggers(event) || event.event === "shared.entry");
  const { index } = useRowKeys("Channels", value?.items ?? [], (channel) => navigate(channelPath(channel)));
  return (
    <>
      <TriggersHead>
        <a class="button" href="/triggers?provider=telegram" title="Telegram bots" aria-label="Telegram bots">
          <span class="hide-phone">Telegram bots</span>
          <Icon name="chevron" size={14} />
        </a>
      </TriggersHead>
      <div class="view-body top stack gap-3">
        {value === undefined ? (
          error === undefined ? <Skeleton /> : <Failure error={error} onRetry={reload} />
        ) : (
          <ul class="card row-list">
            {value.items.map((channel, position) => (
              <li key={channel.name} class={`row is-tall channel-row ${position === index ? "is-selected" : ""}`}>
                <Channel channel={channel} />
              </li>
            ))}
          </ul>
        )}
      </div>
    </>
  );
}

function Channel({ channel }: { channel: ChannelStatus }) {
  const note = channel.error ?? BUILT_IN[channel.name] ?? (channel.mode === "webhook" ? "Telegram calls the gateway" : "the gateway asks for messages");
  return (
    <>
      <span class="muted">
        <Icon name={channel.name === "cli" ? "terminal" : channel.name === "web" ? "chat" : "send"} />
      </span>
      <div class="stack">
        <a class="plan-name strong accent-hover line" href={channelPath(channel)}>
          <Line text={channel.name} />
        </a>
        <span class={channel.error === null ? "muted" : "stack danger-text"}>
          <Line text={note} limit={300} />
        </span>
      </div>
      <span class="muted hide-phone">{channel.name in BUILT_IN ? "built in" : providerName(channel.provider)}</span>
      <a class="link number phone-2-2" href={`/channels/sessions?channel=${encodeURIComponent(channel.name)}`}>
        {plural(channel.sessions, "session")}
      </a>
      <span class="phone-2-3">
        {channel.requests > 0 && (
          <a class="badge warn" href="/channels/pairing">
            {channel.requests} waiting
          </a>
        )}
      </span>
      <span class="line end phone-1-3">
        <span class={`badge ${channel.error !== null ? "danger" : channel.active ? "accent" : ""}`}>{channel.error !== null ? "failing" : channel.active ? "open" : "closed"}</span>
      </span>
    </>
  );
}

function channelPath(channel: ChannelStatus): string {
  return channel.name in BUILT_IN ? `/channels/sessions?channel=${channel.name}` : buildPath("triggers", channel.name);
}
