/** A gateway whose stream and answers the test writes, for moments that a real gateway cannot be asked for. */

import { setImmediate } from "node:timers/promises";

import { GatepostClient } from "@gatepost/client";

import { TestClock } from "./clock.js";

/** A gateway whose stream and answers the test writes. */
export class ScriptedGateway {
  readonly clock = new TestClock();
  readonly client = new GatepostClient({
    url: "http://gateway",
    clock: this.clock,
    fetch: (input, init) => this.#answer(String(input), init),
  });
  /** The addresses of all requests but those of streams. */
  readonly requests: string[] = [];
  /** What was sent with them. */
  readonly bodies: unknown[] = [];
  readonly #pages: (object | Promise<object>)[];
  #stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  #position = 0;

  /** `pages` are the answers to requests, in order; the last one is for all that follow. A `Response` is sent as it is. */
  constructor(...pages: (object | Promise<object>)[]) {
    this.#pages = pages;
  }

  async #answer(url: string, init?: RequestInit): Promise<Response> {
    if (!/\/stream(\?|$)/.test(url)) {
      this.requests.push(url);
      if (init?.body) this.bodies.push(JSON.parse(String(init.body)));
      const answer = await (this.#pages.length > 1 ? this.#pages.shift() : this.#pages[0]);
      return answer instanceof Response ? answer.clone() : Response.json(answer);
    }
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (this.#stream = controller) });
    init!.signal!.addEventListener("abort", () => this.#stream?.error(init!.signal!.reason), { once: true });
    this.send("connected", {}, String(this.#position));
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }

  /** Give these answers to the next requests; the last one is for all that follow. */
  answer(...pages: object[]): void {
    this.#pages.splice(0, this.#pages.length, ...pages);
  }

  /** Wait until there were so many requests; the answer to each may still be to come. */
  async waitForRequests(count: number): Promise<void> {
    while (this.requests.length < count) await setImmediate();
  }

  send(event: string, data: object, id?: string): void {
    this.sendAll([event, data, id]);
  }

  /** Send events in one piece. */
  sendAll(...events: [event: string, data: object, id?: string][]): void {
    const text = events.map(([event, data, id]) => {
      return `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    });
    this.#stream!.enqueue(new TextEncoder().encode(text.join("")));
  }

  post(seq: number, fields: object = {}): void {
    this.#position = seq;
    this.send("space.message", buildMessage(seq, fields), String(seq));
  }

  cut(): void {
    this.#stream!.error(new Error("cut"));
  }
}

export function buildMessage(seq: number, fields: object = {}) {
  return { id: `msg_${seq}`, space: "q4", seq, sender: "ann", content: `m${seq}`, data: null, ...fields };
}

export const page = (...items: object[]) => ({ items, next: null });
export const frame = (streamId: string, fields: object) => {
  return { streamId, runId: "run_1", agent: "ann", spaceId: "q4", ...fields };
};
export const keepAlive = (store: { subscribe(listener: () => void): () => void }) => store.subscribe(() => {});

/** An answer that the test gives later. */
export class Answer extends Promise<object> {
  declare give: (answer: object) => void;

  static create(): Answer {
    let give: (answer: object) => void = () => {};
    return Object.assign(new Answer((resolve) => (give = resolve)), { give: (answer: object) => give(answer) });
  }

  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }
}

/** The answer of a gateway that refuses. */
export const refusal = () => Response.json({ status: 409, detail: "it has ended" }, { status: 409 });
