/** What begins once somebody is signed in: live data, and the commands that every view has. */

import { addCommands, isHelpOpen, isPaletteOpen } from "../commands.js";
import { onOpen } from "../data/feed.js";
import { startLive } from "../data/live.js";
import { checkCaller, signOut } from "../data/session.js";
import { startAnswers } from "../decisions/answers.js";
import { navigate } from "../router.js";
import { isDark, setTheme } from "../theme.js";
import { attempt } from "../ui/toasts.js";
import { canOpen, VIEWS } from "../views.js";

let isStarted = false;

export function startPage(): void {
  if (isStarted) return;
  isStarted = true;
  startLive();
  startAnswers();
  // A stream that has ended with the cookie of one person opens again with that of the next.
  let isReopened = false;
  onOpen(() => {
    if (isReopened) void checkCaller();
    isReopened = true;
  });
  addCommands([
    ...VIEWS.filter((view) => view.icon !== undefined && canOpen(`/${view.name}`)).map((view) => ({
      id: `go-${view.name}`,
      title: `Go to ${view.title}`,
      group: "Go to",
      keys: view.keys ?? "",
      run: () => navigate(`/${view.name}`),
    })),
    { id: "theme", title: "Switch between light and dark", group: "Page", run: toggleTheme },
    { id: "theme-system", title: "Use the colours of the system", group: "Page", run: () => setTheme("system") },
    { id: "help", title: "Show keyboard shortcuts", group: "Page", keys: "?", run: () => (isHelpOpen.value = true) },
    { id: "palette", title: "Open the command palette", group: "Page", keys: "/", run: () => (isPaletteOpen.value = true) },
    { id: "sign-out", title: "Sign out", group: "Page", run: () => void attempt(signOut) },
  ]);
}

export function toggleTheme(): void {
  setTheme(isDark() ? "light" : "dark");
}
