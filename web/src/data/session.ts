/**
 * Who looks at the page. A one-time link carries a token; the gateway takes it once and sets a cookie that scripts cannot
 * read. The administrator sees everything, another person what concerns them.
 */

import { GatepostClient, GatepostError, type Caller } from "@gatepost/client";
import { computed, signal } from "@preact/signals";

/** Shows the gateway that a request is of the page and not of a stranger's. */
const PAGE_HEADERS = { "x-gatepost-page": "1" };

const SIGN_OUT_TIMEOUT = 8000;
/** Whose tab it is. */
const TAB_KEY = "gatepost:person";

export const client = new GatepostClient({ headers: PAGE_HEADERS, exactIntegers: true });

export type SessionState =
  | { status: "checking" }
  | { status: "signed-in"; caller: Caller }
  | { status: "signed-out"; reason: string | undefined }
  | { status: "unreachable"; reason: string };

export const session = signal<SessionState>({ status: "checking" });
const caller = computed(() => (session.value.status === "signed-in" ? session.value.caller : undefined));
/** The person whose inbox, decisions and unread messages are shown, and who writes. */
export const me = computed(() => caller.value?.name ?? "");
export const myName = computed(() => caller.value?.displayName ?? "");
export const isAdministrator = computed(() => caller.value?.administrator ?? false);

/** Find out whose cookie this is. */
export async function startSession(): Promise<void> {
  try {
    const caller = await client.showCaller({}, { timeout: 8000 });
    keepTabFor(caller.name);
    session.value = { status: "signed-in", caller };
  } catch (error) {
    session.value = describeFailure(error);
  }
}

/** Tells the other tabs of this browser that somebody has signed in or out. */
const channel = new BroadcastChannel("gatepost:session");

/** Notice when another person signs in, or the person signs out, in another tab of this browser. */
export function watchCaller(): void {
  channel.addEventListener("message", ({ data }) => {
    if (data === "signed-out") keepTabFor(undefined);
    void checkCaller();
  });
  const check = () => document.hidden || session.value.status !== "signed-in" || void checkCaller();
  document.addEventListener("visibilitychange", check);
  window.addEventListener("focus", check);
  window.addEventListener("pageshow", (event) => event.persisted && check());
}

let isChecking = false;

/** Ask whose cookie this is by now, and load the page anew if it is of another person. */
export async function checkCaller(): Promise<void> {
  isChecking = true;
  try {
    const found = await client.showCaller({}, { timeout: 8000 });
    const isSame = found.name === me.value && found.administrator === isAdministrator.value;
    if (session.value.status === "signed-out" || (session.value.status === "signed-in" && !isSame)) reloadPage();
  } catch (error) {
    endSession(error);
  } finally {
    isChecking = false;
  }
}

/** Load the page anew, so that nothing of the person before stays in it: no data, no draft, no stream. */
function reloadPage(): void {
  session.value = { status: "checking" };
  location.reload();
}

/** Exchange a one-time link for a cookie, and load the page of its person. */
export async function signIn(link: string): Promise<void> {
  const token = link.trim().split("#").at(-1) ?? "";
  const response = await fetch("/api/sign-in", {
    method: "POST",
    headers: { "content-type": "application/json", ...PAGE_HEADERS },
    body: JSON.stringify({ token, replace: true }),
  });
  if (response.ok) {
    channel.postMessage("signed-in");
    reloadPage();
    return;
  }
  const problem = (await response.json().catch(() => ({}))) as { detail?: string };
  throw new GatepostError({ status: response.status, detail: problem.detail ?? `the gateway answered ${response.status}` });
}

const signOutHandlers: (() => Promise<void>)[] = [];

/** Do something before the person is signed out. */
export function beforeSignOut(handler: () => Promise<void>): void {
  signOutHandlers.push(handler);
}

/** Send something while the page is being left; nobody waits for the answer. */
export function sendAtLeave(method: string, path: string, body: string, key: string): void {
  const headers = { "content-type": "application/json", "idempotency-key": key, ...PAGE_HEADERS };
  void fetch(path, { method, body, headers, keepalive: true }).catch(() => undefined);
}

/** Sign out, and leave the page; raise an error if the gateway did not do it. */
export async function signOut(): Promise<void> {
  for (const handler of signOutHandlers) await handler();
  const request = { method: "DELETE", headers: PAGE_HEADERS, signal: AbortSignal.timeout(SIGN_OUT_TIMEOUT) };
  const response = await fetch("/api/sign-in", request).catch(() => undefined);
  if (response === undefined) throw new Error("you may still be signed in: the gateway does not answer");
  if (!response.ok) throw new Error(`you are still signed in: the gateway answered ${response.status}`);
  channel.postMessage("signed-out");
  keepTabFor(undefined);
  location.replace("/sign-in"); // nothing of the person stays in the page
}

/** Forget what the tab has stored, such as drafts, unless it is of this person. */
function keepTabFor(name: string | undefined): void {
  try {
    if (name !== undefined && sessionStorage.getItem(TAB_KEY) === name) return;
    sessionStorage.clear();
    if (name !== undefined) sessionStorage.setItem(TAB_KEY, name);
  } catch {
    // a browser that stores nothing
  }
}

/** Notice an error by which the gateway does not know the cookie any more, or knows it as another person's. */
export function noticeFailure(error: unknown): void {
  endSession(error);
  const isRefused = error instanceof GatepostError && error.status === 403;
  if (isRefused && !isChecking && session.value.status === "signed-in") void checkCaller();
}

/** Show the sign-in screen if the gateway does not know the cookie any more. */
function endSession(error: unknown): void {
  if (error instanceof GatepostError && error.status === 401 && session.value.status === "signed-in") {
    session.value = { status: "signed-out", reason: "your sign-in has ended" };
  }
}

function describeFailure(error: unknown): SessionState {
  if (!(error instanceof GatepostError)) return { status: "unreachable", reason: String(error) };
  if (error.status === 401) return { status: "signed-out", reason: undefined };
  return { status: "unreachable", reason: error.detail };
}
