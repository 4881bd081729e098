/** The navigation: beside the view, and at the bottom of a phone. */

import { signal } from "@preact/signals";

import { AttentionDialog } from "../agents/attention.js";
import { isPaletteOpen } from "../commands.js";
import { feedStatus } from "../data/feed.js";
import { account, agents, findEntity, isThinking, ownDecisions } from "../data/live.js";
import { isAdministrator, me, myName, signOut } from "../data/session.js";
import { spaces, unreadCount, type SpaceEntry } from "../data/spaces.js";
import { buildPath, path } from "../router.js";
import { isDark } from "../theme.js";
import { Dialog } from "../ui/dialog.js";
import { Icon } from "../ui/icons.js";
import { Avatar, Dots, Keys, Line } from "../ui/parts.js";
import { plural } from "../ui/text.js";
import { attempt } from "../ui/toasts.js";
import { canOpen, findView, GROUPS, VIEWS, type View } from "../views.js";
import { toggleTheme } from "./start.js";

/** Views of the bar on a phone; all of them are behind its last button. */
const PHONE_VIEWS = ["", "inbox", "decisions", "spaces"];
const areAllShown = signal(false);
const isAttentionOpen = signal(false);

export function Sidebar({ current }: { current: string }) {
  const views = VIEWS.filter((view) => view.icon !== undefined && canOpen(`/${view.name}`));
  const currentName = findView(current)?.within ?? current;
  const lists = [undefined, ...(Object.keys(GROUPS) as (keyof typeof GROUPS)[])].map((group) => (
    <NavGroup key={group ?? ""} title={group && GROUPS[group]} views={views.filter((view) => view.group === group)} currentName={currentName} />
  ));
  return (
    <>
      <header class="top-bar">
        <a class="brand line gap-2" href="/">
          <Logo /> Gatepost
        </a>
        <Connection />
        <button class="icon-button" aria-label="Commands and search" onClick={() => (isPaletteOpen.value = true)}>
          <Icon name="search" />
        </button>
      </header>
      <nav class="sidebar" aria-label="Views">
        <a class="brand line gap-2" href="/">
          <Logo /> Gatepost
        </a>
        <button class="search-button" onClick={() => (isPaletteOpen.value = true)}>
          <Icon name="search" size={14} />
          <span class="grow">Search</span>
          <Keys keys="Ctrl K" />
        </button>
        <div class="nav-lists grow">{lists}</div>
        <footer class="sidebar-foot">
          <Connection />
          <Person />
        </footer>
      </nav>
      <nav class="bottom-bar" aria-label="Main views">
        {views
          .filter((view) => PHONE_VIEWS.includes(view.name))
          .map((view) => (
            <a key={view.name} class="bottom-link" href={`/${view.name}`} aria-current={view.name === currentName ? "page" : undefined}>
              {view.icon && <Icon name={view.icon} size={20} />}
              <span>{view.title}</span>
              <NavCount name={view.name} />
            </a>
          ))}
        <button class={`bottom-link ${PHONE_VIEWS.includes(currentName) ? "" : "is-current"}`} aria-haspopup="dialog" onClick={() => (areAllShown.value = true)}>
          <Icon name="more" size={20} />
          <span>More</span>
        </button>
      </nav>
      {areAllShown.value && (
        <Dialog title="All views" onClose={() => (areAllShown.value = false)}>
          <div class="nav-lists" onClick={() => (areAllShown.value = false)}>
            {lists}
          </div>
          <Person />
        </Dialog>
      )}
    </>
  );
}

/** Who is signed in, the colours, and the way out. */
function Person() {
  const label = isDark() ? "Use light colours" : "Use dark colours";
  const person = findEntity(me.value);
  const isQuiet = person !== undefined && person.attention !== null;
  const bell = isQuiet ? "Notices are held back" : "What may disturb you";
  return (
    <div class="foot-row line">
      <span class="person" title={isAdministrator.value ? "You are the administrator" : undefined}>
        <Avatar name={myName.value} kind="human" isSmall />
        <Line text={myName.value} class="grow" />
      </span>
      {person && (
        <button class="icon-button" aria-label={bell} title={bell} onClick={() => (isAttentionOpen.value = true)}>
          <Icon name={isQuiet ? "quiet" : "bell"} />
        </button>
      )}
      {person && isAttentionOpen.value && <AttentionDialog entity={person} onClose={() => (isAttentionOpen.value = false)} />}
      <button class="icon-button" aria-label={label} title={label} onClick={toggleTheme}>
        <Icon name={isDark() ? "sun" : "moon"} />
      </button>
      <button class="icon-button" aria-label="Sign out" title="Sign out" onClick={leave}>
        <Icon name="leave" />
      </button>
    </div>
  );
}

function leave(): void {
  areAllShown.value = false; // a failure is shown behind the dialog
  void attempt(signOut);
}

interface GroupProps {
  title: string | undefined;
  views: readonly View[];
  currentName: string;
}

function NavGroup({ title, views, currentName }: GroupProps) {
  if (views.length === 0) return null;
  return (
    <section aria-label={title}>
      {title !== undefined && <h2 class="nav-title">{title}</h2>}
      <ul class="nav-list">
        {views.map((view) => (
          <NavItem key={view.name} view={view} isCurrent={view.name === currentName && (view.name !== "spaces" || path.value === "/spaces")} />
        ))}
      </ul>
    </section>
  );
}

function NavItem({ view, isCurrent }: { view: View; isCurrent: boolean }) {
  return (
    <li>
      <a class="nav-link" href={`/${view.name}`} aria-current={isCurrent ? "page" : undefined} title={view.keys && `Keys: ${view.keys}`}>
        {view.icon && <Icon name={view.icon} />}
        <span class="grow">{view.title}</span>
        <NavCount name={view.name} />
      </a>
      {view.name === "spaces" && <SpaceList />}
    </li>
  );
}

/** How much waits in a view. */
function NavCount({ name }: { name: string }) {
  if (name === "agents") {
    const count = Object.keys(agents().value.runs).length;
    return count === 0 ? null : (
      <span class="badge accent" title={`${plural(count, "agent")} thinking`}>
        <Dots /> {count}
      </span>
    );
  }
  const count = name === "inbox" ? (account.value?.pending ?? 0) - (account.value?.hidden ?? 0) : name === "decisions" ? ownDecisions.value.length : name === "spaces" ? unreadCount.value : 0;
  return count === 0 ? null : <span class={`count ${name === "inbox" ? "quiet" : ""}`}>{count > 999 ? "999+" : count}</span>;
}

function SpaceList() {
  return (
    <ul class="space-list">
      {(spaces.value ?? []).map((space) => (
        <SpaceLink key={space.id} space={space} />
      ))}
    </ul>
  );
}

function SpaceLink({ space }: { space: SpaceEntry }) {
  const href = buildPath("spaces", space.id);
  const isBusy = space.members.some((member) => isThinking(member.name));
  return (
    <li>
      <a class={`nav-link ${space.unread > 0 ? "is-unread" : ""} ${space.isMember ? "" : "is-other"}`} href={href} aria-current={path.value === href ? "page" : undefined}>
        <span class="hash" aria-hidden="true">
          #
        </span>
        <Line text={space.name} class="grow" />
        {isBusy && <Dots />}
        {space.unread > 0 && <span class="count">{space.unread > 99 ? "99+" : space.unread}</span>}
      </a>
    </li>
  );
}

const CONNECTION_TEXTS: Partial<Record<typeof feedStatus.value, string>> = {
  connecting: "Connecting",
  waiting: "Connection lost, trying again",
  failed: "No live updates",
};

/** Shown only while something is wrong, after a moment. */
export function Connection() {
  const text = CONNECTION_TEXTS[feedStatus.value];
  return (
    <span class={`connection ${text === undefined ? "is-live" : ""}`} role="status" title={text ?? "Changes are shown as they happen"}>
      <i class="connection-dot" />
      <span class="connection-text">{text ?? "Live"}</span>
    </span>
  );
}

function Logo() {
  return (
    <svg class="logo" width="20" height="20" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="currentColor" />
      <path d="M9.5 8v16M22.5 8v16M9.5 12.5h13M9.5 19h13" stroke="var(--on-accent)" stroke-width="2.6" stroke-linecap="round" fill="none" />
    </svg>
  );
}
