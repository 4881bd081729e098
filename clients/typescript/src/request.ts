/**
 * Send one request, and try again where that is safe.
 *
 *     a network error, or 429, 502, 503, 504   ->  wait, as long as the gateway asks for  ->  try again
 *     a problem                                ->  GatepostError
 *
 * A request may be repeated if it changes nothing, or if its operation takes an idempotency key: one key is made for
 * all tries, so a lost answer costs a repeat and never a second effect. Other requests (a claim, a new key) are sent
 * once, whatever key the caller gives.
 */

import type { Clock } from "./clock.js";
import { buildConnectionError, buildError } from "./errors.js";
import { writeJson } from "./json.js";
import type { CallOptions, Operation } from "./options.js";
import { parseRetryAfter, RETRY_STATUSES, RetrySchedule, Watchdog } from "./retry.js";

/** How a client sends. */
export interface Transport {
  readonly url: string;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  /** Return the value of an answer or an event. */
  parseJson(text: string): unknown;
  /** Return what every request carries, the credential among it; the headers are the caller's to change. */
  buildHeaders(): Promise<Headers>;
  readonly timeout: number;
  readonly retryTime: number;
  /** Milliseconds without a byte after which a stream is lost. */
  readonly silenceTimeout: number;
}

type Fields = Record<string, unknown>;

/** Send a request and return its answer; raise GatepostError, or the reason of the caller's signal. */
export async function sendRequest(
  transport: Transport,
  operation: Operation,
  request: object,
  options: CallOptions = {},
): Promise<unknown> {
  const [method, path, repetition, answers = []] = operation;
  const { target, body } = encodeRequest(method, path, request as Fields);
  const hasOwnKey = repetition !== "keyed" && hasDedupKey(request as Fields);
  const takesKey = repetition === "keyed" || repetition === "dedup";
  const newKey = takesKey && !hasOwnKey && options.idempotencyKey === undefined ? createKey() : undefined;
  const key = options.idempotencyKey ?? newKey;
  const isRepeatable = repetition === "safe" || hasOwnKey || (takesKey && key !== undefined);
  const { wait } = request as { wait?: unknown };
  const timeout = (options.timeout ?? transport.timeout) + (typeof wait === "number" ? wait * 1000 : 0);
  const { clock } = transport;
  const retries = new RetrySchedule(clock, transport.retryTime);
  for (;;) {
    let pause: number | undefined;
    let failure: unknown;
    const watchdog = new Watchdog(clock, options.signal);
    watchdog.feed(timeout);
    const headers = await watchdog.guard(transport.buildHeaders()).catch((error: unknown) => {
      watchdog.stop();
      throw error; // it is the caller's own, and no fault of the gateway
    });
    try {
      if (body !== undefined) headers.set("content-type", "application/json");
      if (key !== undefined) headers.set("idempotency-key", key);
      const init: RequestInit = { method, headers, redirect: "error", cache: "no-store", signal: watchdog.signal };
      const answering = transport.fetch(transport.url + target, body === undefined ? init : { ...init, body });
      const response = await watchdog.guard(answering);
      const text = await watchdog.guard(response.text());
      if (response.ok || answers.includes(response.status)) {
        const answer = readAnswer(transport, response, text);
        return newKey !== undefined && repetition === "dedup" ? clearDuplicates(answer) : answer;
      }
      failure = buildError(response.status, text);
      if (isRepeatable && RETRY_STATUSES.includes(response.status)) {
        pause = retries.nextPause(parseRetryAfter(response.headers.get("retry-after"), clock.now()));
      }
    } catch (error) {
      options.signal?.throwIfAborted();
      failure = buildConnectionError(error);
      if (isRepeatable) pause = retries.nextPause();
    } finally {
      watchdog.stop();
    }
    if (pause === undefined) throw failure;
    await clock.sleep(pause, options.signal);
  }
}

/** Return the path with its query, and the body: fields that the path does not name are in one or the other. */
export function encodeRequest(method: string, path: string, request: Fields): { target: string; body?: string } {
  const fields = { ...request };
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(fields[name] ?? "");
    delete fields[name];
    if (value === "" || value.includes("/") || value.includes("\0")) {
      throw new TypeError(`${name}: ${JSON.stringify(value)} is not a name or an id`);
    }
    // A path with a dot segment would be another path.
    return /^\.+$/.test(value) ? value.replaceAll(".", "%2E") : encodeURIComponent(value);
  });
  if (method !== "GET" && method !== "DELETE") return { target, body: writeJson(fields) ?? "{}" };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== undefined && item !== null) query.append(name, String(item));
    }
  }
  return { target: query.size > 0 ? `${target}?${query}` : target };
}

function readAnswer(transport: Transport, response: Response, text: string): unknown {
  if (!response.headers.get("content-type")?.includes("json")) return text === "" ? undefined : text;
  try {
    return transport.parseJson(text);
  } catch (error) {
    throw new Error("the answer is not complete", { cause: error });
  }
}

/** Return true if a repeat of a push, or of all pushes of a batch, is recognised without an idempotency key. */
function hasDedupKey(request: Fields): boolean {
  if (Array.isArray(request.pushes)) return request.pushes.length > 0 && request.pushes.every(hasDedupKey);
  return typeof request.dedupKey === "string" || request.type === "alert";
}

/** Return an answer without duplicates: the key was new, so a duplicate can only be an earlier try of the same call. */
export function clearDuplicates<Answer>(answer: Answer): Answer {
  const result = answer as { duplicate?: boolean; recipients?: { duplicate: boolean }[] };
  if (result.duplicate) result.duplicate = false;
  for (const recipient of result.recipients ?? []) recipient.duplicate = false;
  return answer;
}

/** Return a new idempotency key. A page that is not served over TLS has no `crypto.randomUUID`. */
export function createKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `client:${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
