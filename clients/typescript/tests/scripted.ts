/** A gateway whose stream and answers the test writes, for moments that a real gateway cannot be asked for. */

import { GatepostClient } from "@gatepost/client";

import { TestClock } from "./clock.js";

/** A gateway whose stream and answers the test writes. */
export class ScriptedGateway {
  readonly client = new GatepostClient({
    url: "http://gateway",
    clock: new TestClock(),
    fetch: (input, init) => this.#answer(String(input), init),
  });
  readonly #pages: (object | Promise<object>)[];
  #stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  #position = 0;

  /** `pages` are the answers to requests, in order; the last one is for all that follow. */
  constructor(...pages: (object | Promise<object>)[]) {
    this.#pages = pages;
  }

  async #answer(url: string, init?: RequestInit): Promise<Response> {
    if (!/\/stream(\?|$)/.test(url)) {
      return Response.json(await (this.#pages.length > 1 ? this.#pages.shift() : this.#pages[0]));
    }
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (this.#stream = controller) });
    init!.signal!.addEventListener("abort", () => this.#stream?.error(init!.signal!.reason), { once: true });
    this.send("connected", {}, String(this.#position));
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
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
