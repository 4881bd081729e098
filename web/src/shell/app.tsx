/** The shell: sign-in or the page, and the view of the present address. */

import type { ComponentType } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { isHelpOpen, isPaletteOpen } from "../commands.js";
import { session } from "../data/session.js";
import { path, segments } from "../router.js";
import { buildTitle } from "../title.js";
import { Empty, Failure, Skeleton } from "../ui/parts.js";
import { Toasts } from "../ui/toasts.js";
import { canOpen, findView, type View } from "../views.js";
import { Help } from "./help.js";
import { Palette } from "./palette.js";
import { SignIn } from "./sign-in.js";
import { Sidebar } from "./sidebar.js";
import { startPage } from "./start.js";

export function App() {
  const { status } = session.value;
  if (status === "checking") return <Skeleton rows={0} />;
  if (status !== "signed-in") return <SignIn />;
  return <Page />;
}

function Page() {
  useLayoutEffect(startPage, []);
  const name = segments.value[0] ?? "";
  const view = findView(name);
  const title = buildTitle(name === "" ? undefined : view?.title);
  useEffect(() => {
    document.title = title;
  }, [title]);
  useFocusInContent();
  return (
    <div class="shell">
      <a class="skip-link" href="#content" onClick={(event) => (event.preventDefault(), document.getElementById("content")?.focus())}>
        Skip to the content
      </a>
      <Sidebar current={name} />
      <main class="content" id="content" tabIndex={-1}>
        {view === undefined ? <Missing /> : canOpen(path.value) ? <LazyView key={view.name} view={view} /> : <Hidden view={view} />}
      </main>
      <Toasts />
      {isPaletteOpen.value && <Palette />}
      {isHelpOpen.value && <Help />}
    </div>
  );
}

/** After a change of the address, move the focus to the content, unless it is there already. */
function useFocusInContent(): void {
  const shown = useRef(path.value);
  useEffect(() => {
    if (shown.current === path.value) return;
    shown.current = path.value;
    // A dialog that closes now gives the focus back first.
    const frame = requestAnimationFrame(() => {
      const content = document.getElementById("content");
      if (content?.contains(document.activeElement) || document.querySelector("dialog[open]") !== null) return;
      content?.focus({ preventScroll: true });
    });
    return () => cancelAnimationFrame(frame);
  }, [path.value]);
}

const loaded = new Map<() => Promise<{ default: ComponentType }>, ComponentType>();

function LazyView({ view }: { view: View }) {
  const { component: Component, error, retry } = useModule(view.load);
  if (error !== undefined) return <Failure error={error} onRetry={retry} />;
  return Component === undefined ? <Skeleton /> : <Component />;
}

function useModule(load: () => Promise<{ default: ComponentType }>) {
  const [error, setError] = useState<Error | undefined>(undefined);
  const [version, setVersion] = useState(0);
  useEffect(() => {
    if (loaded.has(load)) return;
    setError(undefined);
    load().then(
      (module) => {
        loaded.set(load, module.default);
        setVersion((old) => old + 1);
      },
      (reason: Error) => setError(reason),
    );
  }, [load, version]);
  return { component: loaded.get(load), error, retry: () => setVersion((old) => old + 1) };
}

function Hidden({ view }: { view: View }) {
  return (
    <>
      <header class="view-head">
        <h1>{view.title}</h1>
      </header>
      <Empty icon="person" title="Only the administrator sees this">
        <a class="button" href="/">
          Go to Home
        </a>
      </Empty>
    </>
  );
}

function Missing() {
  return (
    <Empty icon="search" title="There is no such view">
      <p>The address may be of another version of the page.</p>
      <a class="button" href="/">
        Go to Home
      </a>
    </Empty>
  );
}
