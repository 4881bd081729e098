/**
 * The views of the page. The code of a view comes when it is first shown. A view with an icon is in the navigation, and
 * its keys go there. Who may see a view is decided here and nowhere else; the gateway refuses what is asked for all the same.
 */

import type { ComponentType } from "preact";

import { isAdministrator, me } from "./data/session.js";
import { splitPath } from "./router.js";
import type { IconName } from "./ui/icons.js";

/** Who may see something; everybody who is signed in, if nothing is said. */
type Needs = "administrator" | undefined;

export interface View {
  /** The first part of its addresses; "" is the home view. */
  name: string;
  title: string;
  icon?: IconName;
  /** Where it is in the navigation, below the first entries. */
  group?: keyof typeof GROUPS;
  keys?: string;
  /** The view of the navigation that it belongs to, if it has no entry there itself. */
  within?: string;
  /** Who may see it; or, if its addresses differ, that of the part of the address after the name. */
  needs?: Needs | ((part: string | undefined) => Needs);
  load: () => Promise<{ default: ComponentType }>;
}

/** The parts of the navigation, and their headings. */
export const GROUPS = { people: "People", agents: "Agents", gateway: "Gateway" } as const;

export const VIEWS: readonly View[] = [
  { name: "", title: "Home", icon: "home", keys: "g h", load: () => import("./home/home.js") },
  { name: "inbox", title: "Inbox", icon: "inbox", keys: "g i", needs: (name) => (name === undefined || name === me.value ? undefined : "administrator"), load: () => import("./inbox/inbox.js") },
  { name: "mail", title: "Sent mail", icon: "mail", keys: "g o", load: () => import("./mail/mail.js") },
  { name: "decisions", title: "Decisions", icon: "decision", keys: "g d", load: () => import("./decisions/decisions.js") },
  { name: "spaces", title: "Spaces", icon: "space", group: "people", keys: "g s", load: () => import("./spaces/spaces.js") },
  { name: "chat", title: "Chat", icon: "chat", group: "people", keys: "g m", load: () => import("./chat/chat.js") },
  { name: "shared", title: "Shared inbox", icon: "channels", group: "people", keys: "g b", load: () => import("./shared/shared.js") },
  { name: "agents", title: "Agents", icon: "agent", group: "agents", keys: "g a", load: () => import("./agents/agents.js") },
  { name: "runs", title: "Runs", needs: (id) => (id === undefined ? "administrator" : undefined), load: () => import("./agents/runs.js") },
  { name: "gates", title: "Gates", icon: "gate", group: "agents", keys: "g t", load: () => import("./decisions/gates.js") },
  { name: "plans", title: "Plans", icon: "clock", group: "agents", keys: "g p", load: () => import("./plans/plans.js") },
  { name: "triggers", title: "Triggers", icon: "bolt", group: "agents", keys: "g w", load: () => import("./triggers/triggers.js") },
  { name: "routes", title: "Routing rules", within: "triggers", needs: "administrator", load: () => import("./triggers/routes.js") },
  { name: "unrouted", title: "Unrouted messages", within: "triggers", needs: "administrator", load: () => import("./triggers/unrouted.js") },
  { name: "channels", title: "Channels", within: "triggers", needs: (part) => (part === "sessions" ? undefined : "administrator"), load: () => import("./channels/channels.js") },
  { name: "cost", title: "Cost", icon: "cost", group: "gateway", keys: "g c", needs: "administrator", load: () => import("./cost/cost.js") },
  { name: "ledger", title: "Ledger", icon: "ledger", group: "gateway", keys: "g l", load: () => import("./ledger/ledger.js") },
  { name: "health", title: "Health", icon: "health", group: "gateway", keys: "g e", needs: "administrator", load: () => import("./health/health.js") },
  { name: "settings", title: "Settings", icon: "tool", group: "gateway", keys: "g ,", needs: "administrator", load: () => import("./settings/settings.js") },
  { name: "items", title: "Items", needs: "administrator", load: () => import("./health/items.js") },
];

export function findView(name: string): View | undefined {
  return VIEWS.find((view) => view.name === name);
}

/** Whether the person may see what an address shows, such as "/cost" or "/inbox/analyst". */
export function canOpen(address: string): boolean {
  const [name = "", part] = splitPath(address);
  const needs = findView(name)?.needs;
  return isAdministrator.value || (typeof needs === "function" ? needs(part) : needs) === undefined;
}
