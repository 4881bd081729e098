/** The parts of a gateway, and whether each of them works; and the alerts that wait. */

import type { Health, History, Waiting } from "@gatepost/client";

import { feedStatus } from "../data/feed.js";
import { buildPath } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Line, Priority, Skeleton } from "../ui/parts.js";
import { plural } from "../ui/text.js";
import { formatDuration, RelativeTime } from "../ui/time.js";

/** What is shown of a part: its name, its state, and where more of it is. */
type Part = [name: string, tone: "well" | "warn" | "bad", text: string, href?: string];

const TONES = {
  well: { mark: "accent", text: "muted" },
  warn: { mark: "warn", text: "warn-text" },
  bad: { mark: "danger", text: "danger-text" },
} as const;
const TRANSPORTS: Record<string, string> = { memory: "within this process", socket: "a socket on this machine", redis: "Redis", nats: "NATS", postgres: "PostgreSQL" };

export function Parts({ health, history }: { health: Health | undefined; history: History | undefined }) {
  if (health === undefined) return <Skeleton rows={5} />;
  return (
    <ul class="card row-list">
      {listParts(health, history).map(([name, tone, text, href]) => {
        const content = (
          <>
            <i class={`mark ${TONES[tone].mark}`} />
            <span class="part-name strong">{name}</span>
            <Line text={text} limit={200} class={`grow ${tone === "well" ? "muted" : ""}`} />
            <span class={`xs ${TONES[tone].text}`}>{tone === "well" ? "works" : tone === "warn" ? "degraded" : "fails"}</span>
          </>
        );
        return <li key={name}>{href === undefined ? <div class="row part-row line">{content}</div> : <a class="row part-row line" href={href}>{content}</a>}</li>;
      })}
    </ul>
  );
}

function listParts(health: Health, history: History | undefined): Part[] {
  const { transport } = health;
  const size = history === undefined ? "" : `${formatBytes(history.storeBytes)}`;
  const parts: Part[] = [
    ["Store", health.ready ? "well" : "bad", health.ready ? `${size}${size === "" ? "" : ", "}reads and writes` : (health.reason ?? "not ready")],
    ["Transport", transport.degraded ? "warn" : "well", transport.degraded ? `${transport.reason ?? "degraded"}: wakes come late, nothing is lost` : (TRANSPORTS[transport.name] ?? transport.name)],
    ["Accounts", health.accounting?.balanced === false ? "bad" : "well", health.accounting?.balanced === false ? "something was lost" : "every event is accounted for"],
  ];
  if (health.clockSkewSeconds !== undefined) parts.push(["Clock", health.clockSkewSeconds === 0 ? "well" : "warn", health.clockSkewSeconds === 0 ? "agrees with that of the store" : `${formatDuration(Math.abs(health.clockSkewSeconds) * 1000)} apart from that of the store`]);
  if (health.failingChannels !== undefined) parts.push(["Channels", health.failingChannels === 0 ? "well" : "bad", health.failingChannels === 0 ? "no active bot fails" : `${plural(health.failingChannels, "bot")} ${health.failingChannels === 1 ? "does" : "do"} not work`]);
  if (health.unrouted !== undefined) parts.push(["Routing", health.unrouted === 0 ? "well" : "warn", health.unrouted === 0 ? "every message found a recipient" : plural(health.unrouted, "unrouted message")]);
  parts.push(["This page", feedStatus.value === "open" ? "well" : "warn", feedStatus.value === "open" ? `live, of version ${health.version ?? "unknown"}` : "not connected to the live stream"]);
  return parts;
}

export function Alerts({ waiting }: { waiting: Waiting | undefined }) {
  if (waiting === undefined) return <Skeleton rows={3} />;
  if (waiting.alerts.length === 0) return <p class="card pad sm muted">No alerts. What fails and needs a person comes here and into your inbox.</p>;
  return (
    <ul class="card row-list">
      {waiting.alerts.map((item) => (
        <li key={item.eventId}>
          <a class="row home-row line" href={buildPath("inbox", item.recipient, item.eventId)}>
            <Priority level={item.priority} />
            <Line text={item.subject ?? item.content} class="grow" />
            <RelativeTime time={item.createdAt} />
          </a>
        </li>
      ))}
      {waiting.alertCount > waiting.alerts.length && (
        <li>
          <a class="row home-row line link" href="/inbox?type=alert">
            <Icon name="inbox" size={14} /> {plural(waiting.alertCount - waiting.alerts.length, "more alert")}
          </a>
        </li>
      )}
    </ul>
  );
}

export function formatBytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = count < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(count) / 3));
  const value = count / 1000 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}
