/**
 * The client: one method for each operation (`operations.ts`), lists of any length, and streams.
 *
 *     const client = new GatepostClient({ url: "http://127.0.0.1:4283", key: "sk_..." });
 *     await client.pushEvent({ to: "analyst", content: "The build is red" });
 */

import { SYSTEM_CLOCK, type Clock } from "./clock.js";
import { GatepostError } from "./errors.js";
import type { GatepostEvent } from "./events.js";
import type { Batch, Item, PushEvent, PushOutcome } from "./models.js";
import { Operations } from "./operations.js";
import { parseJson, writeJson } from "./json.js";
import type { CallOptions, Operation, StreamOptions } from "./options.js";
import { clearDuplicates, createKey, sendRequest, type Transport } from "./request.js";
import { RETRY_STATUSES, RetrySchedule } from "./retry.js";
import { readStream } from "./stream.js";

/** Pushes of a batch, and characters of JSON after which the next batch begins. */
const BATCH_LENGTH = 1_000;
const BATCH_SIZE = 2 * 1024 * 1024;
/** Items of a page. */
const PAGE_LENGTH = 500;
/** Seconds that one request waits for an item. */
const WORK_WAIT = 30;
const DEFAULT_TIMEOUT = 30_000;
const DEFAULT_RETRY_TIME = 30_000;
/** The gateway sends a sign of life every 15 seconds. */
const DEFAULT_SILENCE_TIMEOUT = 45_000;

export interface ClientOptions {
  /** Where the gateway is; by default where the page came from. */
  url?: string;
  /** A secret key. Without one, and without a token, a page is known by its cookie. */
  key?: string;
  /** A public key, which goes with a token. */
  publicKey?: string;
  /** A JWT, or a function that returns a fresh one. */
  token?: string | (() => string | Promise<string>);
  /** The entity that the administrator acts as. */
  actAs?: string;
  /** What else every request carries, such as the header of the page. */
  headers?: Record<string, string>;
  /** Milliseconds that one try may take. */
  timeout?: number;
  /** Milliseconds for which a request is tried again. A stream is opened again until it is aborted. */
  retryTime?: number;
  /** Milliseconds without a sign of life after which a stream is opened again. */
  silenceTimeout?: number;
  /** What sends the requests; by default `fetch`. */
  fetch?: typeof fetch;
  /** Whether integers in answers that a number cannot hold are a BigInt, rather than rounded. */
  exactIntegers?: boolean;
  /** What tells the time and waits, between two tries and for an answer; by default that of the system. */
  clock?: Clock;
}

/** A page of a list. */
export interface Page<Item> {
  items: Item[];
  next: string | null;
}

/** Of a loop over the items of an inbox. */
export interface WorkOptions {
  /** How long an item is claimed, such as `5m`: longer than the body of the loop takes. */
  hold?: string;
  /** Ends the loop while it waits for an item, without an error. */
  signal?: AbortSignal;
}

/** A method that returns a page of items. */
type ListMethod<Request, Item> = (request: Request, options?: CallOptions) => Promise<Page<Item>>;

export class GatepostClient extends Operations {
  readonly #transport: Transport;

  constructor(options: ClientOptions = {}) {
    super();
    const { key, publicKey, token, actAs } = options;
    const fixed: Record<string, string> = { ...options.headers };
    if (key !== undefined) fixed["x-secret-key"] = key;
    if (publicKey !== undefined) fixed["x-public-key"] = publicKey;
    if (actAs !== undefined) fixed["x-act-as"] = actAs;
    const headers = new Headers(fixed); // raises TypeError for what is no header
    this.#transport = {
      url: parseUrl(options.url ?? globalThis.location?.origin),
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
      clock: options.clock ?? SYSTEM_CLOCK,
      parseJson: options.exactIntegers ? parseJson : JSON.parse,
      buildHeaders: async () => {
        const copy = new Headers(headers);
        const bearer = typeof token === "function" ? await token() : token;
        if (bearer !== undefined) copy.set("authorization", `Bearer ${bearer}`);
        return copy;
      },
      timeout: options.timeout ?? DEFAULT_TIMEOUT,
      retryTime: options.retryTime ?? DEFAULT_RETRY_TIME,
      silenceTimeout: options.silenceTimeout ?? DEFAULT_SILENCE_TIMEOUT,
    };
  }

  /**
   * Push any number of events, and return the outcome of each in their order: status 201 with its result, or a problem.
   * Each thousand is one commit. If the gateway cannot be reached any more, the first thousands may be stored.
   */
  async pushMany(pushes: Iterable<PushEvent>, options?: Omit<CallOptions, "idempotencyKey">): Promise<PushOutcome[]> {
    const outcomes: PushOutcome[] = [];
    for (const batch of splitPushes(pushes)) {
      const { items } = await this.pushEvents({ pushes: batch.map(({ push }) => push) }, options);
      outcomes.push(...items.map((outcome, index) => (batch[index]?.hasNewKey ? clearDuplicates(outcome) : outcome)));
    }
    return outcomes;
  }

  /**
   * Return the items of a list, page by page; `limit` is the length of a page.
   *
   *     for await (const item of client.pages(client.listInbox, { name: "husam", state: "pending" })) ...
   *
   * Messages of a space are read from `afterSeq` on, which is 0 for all.
   */
  async *pages<Request extends { limit?: number } | undefined, Item>(
    list: ListMethod<Request, Item>,
    request: NoInfer<NonNullable<Request>>,
    options?: CallOptions,
  ): AsyncGenerator<Item> {
    const cursor = "afterSeq" in request ? "afterSeq" : "after";
    let next = { ...request, limit: request.limit ?? PAGE_LENGTH };
    for (;;) {
      const page = await list.call(this, next, options);
      yield* page.items;
      if (page.next === null) return;
      next = { ...next, [cursor]: page.next };
    }
  }

  /**
   * Return the items of an inbox, one at a time, until `signal` is aborted or the loop is left, and wait while there are
   * none:
   *
   *     for await (const item of client.work("analyst")) await handle(item);
   *
   * An item is claimed for `hold` (5 minutes), and acked when the body of the loop ends. If the body throws, or leaves
   * the loop, the item is released, and the next reader gets it. Several loops on one inbox share its items.
   */
  async *work(name: string, { hold = "5m", signal }: WorkOptions = {}): AsyncGenerator<Item> {
    const { clock, retryTime } = this.#transport;
    const request = { name, owner: createKey(), limit: 1, hold, wait: WORK_WAIT };
    let retries = new RetrySchedule(clock, retryTime);
    while (!signal?.aborted) {
      let batch: Batch;
      try {
        batch = await this.claimBatch(request, { signal });
      } catch (error) {
        if (signal?.aborted) return;
        const isTemporary = error instanceof GatepostError && [0, ...RETRY_STATUSES].includes(error.status);
        const pause = isTemporary ? retries.nextPause() : undefined;
        if (pause === undefined) throw error;
        await clock.sleep(pause, signal);
        continue;
      }
      retries = new RetrySchedule(clock, retryTime);
      if (batch.claim === null) continue;
      const { recipient, claimId, owner, fence } = batch.claim;
      const claim = { name: recipient, claimId, owner, fence };
      let isDone = false;
      try {
        yield* batch.items;
        isDone = true;
      } finally {
        // If the release fails, the claim lapses.
        if (!isDone) await this.releaseClaim(claim).catch(() => {});
      }
      await this.ackClaim(claim);
    }
  }

  protected async call<Answer>(operation: Operation, request: object, options?: CallOptions): Promise<Answer> {
    return (await sendRequest(this.#transport, operation, request, options)) as Answer;
  }

  protected watch(path: string, request: object, options?: StreamOptions): AsyncGenerator<GatepostEvent> {
    return readStream(this.#transport, path, request, options);
  }
}

/** Return pushes as batches; one without a dedup key gets a new one, so that a batch can be sent again. */
function splitPushes(pushes: Iterable<PushEvent>): { push: PushEvent; hasNewKey: boolean }[][] {
  const batches: { push: PushEvent; hasNewKey: boolean }[][] = [];
  let size = Infinity;
  for (const push of pushes) {
    const hasNewKey = typeof push.dedupKey !== "string" && push.type !== "alert";
    const length = writeJson(push)?.length ?? 0;
    const last = batches.at(-1);
    const entry = { push: hasNewKey ? { ...push, dedupKey: createKey() } : push, hasNewKey };
    if (last === undefined || last.length === BATCH_LENGTH || size + length > BATCH_SIZE) {
      batches.push([entry]);
      size = length;
    } else {
      last.push(entry);
      size += length;
    }
  }
  return batches;
}

function parseUrl(url: string | undefined): string {
  if (url === undefined) throw new TypeError("`url` is missing: say where the gateway is");
  return new URL(url).href.replace(/\/+$/, "");
}
