/** A proxy in front of a gateway that loses what it is told to lose. */

import { once } from "node:events";
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Outcome =
  /** The gateway never gets it, and the caller is cut off. */
  | "lost"
  /** The gateway does it, and the caller is cut off before it hears of that. */
  | "unanswered"
  /** The caller gets half of the answer. */
  | "half"
  /** The proxy answers: not now. */
  | 429
  | 502
  | 503
  | 504;

export class Proxy {
  /** What becomes of the next requests; then all pass. */
  readonly outcomes: Outcome[] = [];
  readonly requests: IncomingMessage[] = [];
  /** After how many bytes of an answer its connection is cut; Infinity for never. */
  cutAfter: () => number = () => Infinity;
  retryAfter = "0";
  readonly #server: Server;
  readonly #target: () => string;

  private constructor(target: () => string) {
    this.#target = target;
    this.#server = createServer((incoming, outgoing) => void this.#forward(incoming, outgoing));
  }

  static async create(target: () => string): Promise<Proxy> {
    const proxy = new Proxy(target);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Cut every connection that there is. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  async #forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    this.requests.push(incoming);
    const outcome = this.outcomes.shift();
    const body: Buffer[] = [];
    for await (const chunk of incoming) body.push(chunk as Buffer);
    if (outcome === "lost") {
      incoming.socket.destroy();
    } else if (typeof outcome === "number") {
      outgoing.writeHead(outcome, { "retry-after": this.retryAfter }).end("<html>not now</html>");
    } else {
      const options = { method: incoming.method!, headers: { ...incoming.headers, connection: "close" } };
      const forwarded = request(this.#target() + incoming.url, options, (answer) => {
        if (outcome === "unanswered") {
          answer.resume().on("end", () => incoming.socket.destroy());
          return;
        }
        outgoing.writeHead(answer.statusCode!, answer.headers).flushHeaders();
        let left = outcome === "half" ? Number(answer.headers["content-length"]) / 2 : this.cutAfter();
        answer.on("data", (chunk: Buffer) => {
          outgoing.write(chunk.subarray(0, left));
          left -= chunk.length;
          // The bytes before the cut arrive; then the connection ends as if the gateway were gone.
          if (left <= 0) setImmediate(() => incoming.socket.destroy());
        });
        answer.on("end", () => outgoing.end()).on("error", () => incoming.socket.destroy());
      });
      forwarded.on("error", () => incoming.socket.destroy());
      outgoing.on("close", () => forwarded.destroy());
      forwarded.end(Buffer.concat(body));
    }
  }
}
