/** What makes something new, from every view: it opens the view that has the form. */

import { runInView, type Command } from "../commands.js";
import { isAdministrator } from "../data/session.js";
import { canOpen } from "../views.js";

/** The command of a view that makes something, by its id there. */
interface Maker {
  id: string;
  title: string;
  path: string;
  isForAdministrator?: boolean;
}

const MAKERS: readonly Maker[] = [
  { id: "new-agent", title: "New agent", path: "/agents", isForAdministrator: true },
  { id: "connect-program", title: "Connect an agent program", path: "/agents", isForAdministrator: true },
  { id: "create-space", title: "Create a space", path: "/spaces", isForAdministrator: true },
  { id: "write-mail", title: "Write mail", path: "/mail" },
  { id: "new-conversation", title: "New conversation", path: "/chat" },
  { id: "ask-decision", title: "Ask for a decision", path: "/decisions" },
  { id: "new-gate", title: "Add a gate", path: "/gates" },
  { id: "new-plan", title: "Make a plan", path: "/plans" },
  { id: "new-trigger", title: "Add a trigger", path: "/triggers", isForAdministrator: true },
  { id: "new-person", title: "Add a person", path: "/settings", isForAdministrator: true },
];

/** Return the makers that the view of the moment does not offer itself. */
export function listMakers(shown: readonly Command[]): Command[] {
  const ids = new Set(shown.map(({ id }) => id));
  return MAKERS.filter((maker) => !ids.has(maker.id) && canOpen(maker.path) && (isAdministrator.value || !maker.isForAdministrator)).map(({ id, title, path }) => ({ id, title, group: "New", run: () => runInView(path, id) }));
}
