/** A real gateway as a process of its own, which can be killed and started again where it was. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { type ClientOptions, GatepostClient } from "@gatepost/client";

import { TestClock } from "./clock.js";

/** How the command `gatepost` is started, as a JSON array. */
const COMMAND = JSON.parse(process.env.GATEPOST_COMMAND ?? '["gatepost"]') as [string, ...string[]];

export class Gateway {
  url = "";
  key = "";
  readonly home: string;
  #process: ChildProcess | undefined;

  private constructor(home: string) {
    this.home = home;
  }

  static async create(): Promise<Gateway> {
    const gateway = new Gateway(await mkdtemp(join(tmpdir(), "gatepost-")));
    await gateway.start();
    return gateway;
  }

  /** Start it on the port that it had, and wait until it listens. */
  async start(): Promise<void> {
    const [program, ...options] = COMMAND;
    const port = this.url === "" ? "0" : new URL(this.url).port;
    const child = spawn(program, [...options, "up", "--port", port], {
      env: { ...process.env, GATEPOST_HOME: this.home, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", process.env.GATEPOST_TEST_LOG ? "inherit" : "ignore"],
    });
    this.#process = child;
    process.once("exit", () => child.kill("SIGKILL")); // also when a test has failed
    for await (const line of createInterface(child.stdout!)) {
      this.url = line.trim();
      break;
    }
    child.stdout!.resume();
    this.key = (await readFile(join(this.home, "admin.key"), "utf8")).trim();
  }

  /** Return a client of the administrator, or of the entity that it acts as. It waits for no time. */
  open(options: ClientOptions = {}): GatepostClient {
    return new GatepostClient({ url: this.url, key: this.key, clock: new TestClock(), ...options });
  }

  async stop(signal: "SIGINT" | "SIGKILL" = "SIGINT"): Promise<void> {
    const exited = once(this.#process!, "exit");
    this.#process!.kill(signal);
    await exited;
  }

  async remove(): Promise<void> {
    if (this.#process!.exitCode === null && this.#process!.signalCode === null) await this.stop("SIGKILL");
    await rm(this.home, { recursive: true, force: true });
  }
}

/** Create a person, two guests and the space `q4-report`. */
export async function seed(client: GatepostClient): Promise<void> {
  await client.registerEntity({ name: "husam", kind: "human", displayName: "Husam" });
  await client.registerAgent({ name: "analyst" });
  await client.registerAgent({ name: "designer" });
  await client.createSpace({ name: "Q4 report", members: ["husam", "analyst"] });
}
