/**
 * Read a stream for ever, each event once.
 *
 * `fetch` rather than EventSource, which cannot send a credential in a header. After a lost connection, silence, or
 * `ended`, the stream is opened again with the position of the last event that was read, so nothing is lost and nothing
 * comes twice:
 *
 *     connecting  ->  open  ->  lost or ended  ->  waiting  ->  connecting
 *
 * A position is advanced when its event is complete and before the caller gets it; a half event is discarded and comes
 * again. Only an answer that will not change ends the stream with an error: a refusal, or an end without a position.
 */

import { buildConnectionError, buildError, buildRefusal, GatepostError } from "./errors.js";
import type { GatepostEvent } from "./events.js";
import type { StreamConnected, StreamEnded } from "./models.js";
import type { StreamOptions } from "./options.js";
import { encodeRequest, type Transport } from "./request.js";
import { parseRetryAfter, RETRY_STATUSES, RetrySchedule, Watchdog } from "./retry.js";
import { EventParser, type ServerSentEvent } from "./sse.js";

/** Milliseconds that a stream must have been open for the pauses to begin anew. */
const STABLE_TIME = 5_000;

/** An answer that asks to come back later. */
class NotNow extends Error {
  readonly retryAfter: number;

  constructor(cause: GatepostError, retryAfter: number) {
    super(cause.message, { cause });
    this.retryAfter = retryAfter;
  }
}

/** Return the events of a stream until the signal is aborted or the caller leaves; raise GatepostError at its end. */
export async function* readStream(
  transport: Transport,
  path: string,
  request: object,
  options: StreamOptions = {},
): AsyncGenerator<GatepostEvent> {
  const { signal, onStatus, onConnected } = options;
  const { clock } = transport;
  let position = options.after;
  let retries = new RetrySchedule(clock, Infinity);
  while (!signal?.aborted) {
    let failure: Error | undefined;
    let least = 0;
    let openedAt = Infinity;
    onStatus?.("connecting");
    try {
      for await (const event of openStream(transport, path, request, position, signal)) {
        if (signal?.aborted) return;
        if (event.event === "ended") {
          const { reason, resumeFrom } = JSON.parse(event.data) as StreamEnded;
          if (resumeFrom === undefined) throw buildRefusal(reason);
          position = resumeFrom;
          failure = new Error(reason);
          break;
        }
        const data = transport.parseJson(event.data);
        if (event.id !== "") position = event.id;
        if (event.event === "connected") {
          openedAt = clock.now();
          onConnected?.({ parts: (data as Partial<StreamConnected>).parts, id: position ?? "" });
          onStatus?.("open");
        } else {
          retries = new RetrySchedule(clock, Infinity);
          yield { event: event.event, data, id: position ?? "" } as GatepostEvent;
        }
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (error instanceof GatepostError) throw error;
      failure = error instanceof NotNow ? error : buildConnectionError(error);
      least = error instanceof NotNow ? error.retryAfter : 0;
    }
    if (clock.now() - openedAt >= STABLE_TIME) retries = new RetrySchedule(clock, Infinity);
    onStatus?.("waiting", failure ?? new Error("the gateway closes the connection"));
    await clock.sleep(retries.nextPause(least) ?? 0, signal).catch(() => undefined);
  }
}

/** Return the events of one connection. */
async function* openStream(
  transport: Transport,
  path: string,
  request: object,
  position: string | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<ServerSentEvent> {
  const watchdog = new Watchdog(transport.clock, signal);
  try {
    watchdog.feed(transport.timeout);
    const headers = await watchdog.guard(transport.buildHeaders());
    headers.set("accept", "text/event-stream");
    if (position !== undefined) headers.set("last-event-id", position);
    const { target } = encodeRequest("GET", path, request as Record<string, unknown>);
    const init: RequestInit = { headers, redirect: "error", cache: "no-store", signal: watchdog.signal };
    const response = await watchdog.guard(transport.fetch(transport.url + target, init));
    if (!response.ok || response.body === null) {
      const error = buildError(response.status, await response.text());
      if (!RETRY_STATUSES.includes(response.status)) throw error;
      throw new NotNow(error, parseRetryAfter(response.headers.get("retry-after"), transport.clock.now()));
    }
    if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
      throw new GatepostError({ status: response.status, detail: `${target} is not a stream of events` });
    }
    const decoder = new TextDecoder(); // it removes a byte order mark
    const parser = new EventParser();
    const reader = response.body.getReader();
    // A `fetch` that is not the platform's may not close a connection by the signal.
    watchdog.signal.addEventListener("abort", () => void reader.cancel().catch(() => undefined), { once: true });
    for (;;) {
      watchdog.feed(transport.silenceTimeout);
      const { done, value } = await reader.read();
      watchdog.signal.throwIfAborted();
      if (done) return;
      // The caller may take its time with the events; that is no silence of the gateway.
      watchdog.pause();
      yield* parser.parse(decoder.decode(value, { stream: true }));
    }
  } finally {
    watchdog.cancel();
  }
}
