/**
 * Addresses. Every view has one, so that it can be shared: a path, and filters as its query.
 *
 *     /spaces/q4-report     /inbox/husam/evt_1?state=dead     /agents/analyst/mind     /runs/run_1
 */

import { computed, signal } from "@preact/signals";

const address = signal(readAddress());

export const path = computed(() => address.value.pathname);
export const query = computed(() => new URLSearchParams(address.value.search));
/** The parts of the path, decoded: ["inbox", "husam"]. */
export const segments = computed(() => splitPath(path.value));

/** Go to an address of the page; `replace` leaves no entry in the history. */
export function navigate(target: string, options: { replace?: boolean } = {}): void {
  const current = address.value.pathname + address.value.search;
  if (target === current) return;
  history[options.replace ? "replaceState" : "pushState"](null, "", target);
  address.value = readAddress();
}

/** Change some filters of the present address; an undefined or empty value removes a filter. */
export function changeQuery(changes: Record<string, string | undefined>): void {
  const next = new URLSearchParams(query.value);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "") next.delete(name);
    else next.set(name, value);
  }
  navigate(withQuery(path.value, next), { replace: true });
}

/** Return an address whose parts are encoded: buildPath("inbox", "a b") is /inbox/a%20b. What need not be is readable. */
export function buildPath(...parts: string[]): string {
  return "/" + parts.map((part) => encodeURIComponent(part).replaceAll("%40", "@").replaceAll("%3A", ":")).join("/");
}

/** Return the parts of a path, decoded. */
export function splitPath(target: string): string[] {
  return target.split("/").filter(Boolean).map(decodeSegment);
}

/** Return a path with the present filters. */
export function keepQuery(target: string): string {
  return withQuery(target, query.value);
}

/** Return a path with filters; one that is undefined or empty is left out. */
export function withFilters(target: string, filters: Record<string, string | undefined>): string {
  const given = Object.entries(filters).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== "");
  return withQuery(target, new URLSearchParams(given));
}

/** Follow links of the page without loading it again. */
export function installRouter(): void {
  addEventListener("popstate", () => (address.value = readAddress()));
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    // A link of a chart is one of SVG, whose properties are no strings.
    const href = link?.getAttribute("href");
    if (href === null || href === undefined || link?.hasAttribute("target") || link?.hasAttribute("download")) return;
    const url = parseUrl(href);
    if (url?.origin !== location.origin || /^\/(api|metrics)(\/|$)/.test(url.pathname)) return;
    event.preventDefault();
    navigate(url.pathname + url.search);
  });
}

function parseUrl(href: string): URL | undefined {
  return URL.canParse(href, location.href) ? new URL(href, location.href) : undefined;
}

function readAddress() {
  return { pathname: location.pathname, search: location.search };
}

function withQuery(target: string, values: URLSearchParams): string {
  const text = values.toString();
  return text === "" ? target : `${target}?${text}`;
}

function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
