/** What a stream leaves behind, and what goes wrong around it: the test decides what each connection brings. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { createHooks, Feed, type FeedListener, GatepostClient, type GatepostEvent, openFeed, type UseSpace } from "@gatepost/client";

import { TestClock } from "./clock.js";
import { Answer, buildMessage, keepAlive, page, ScriptedGateway } from "./scripted.js";
import { take, waitFor } from "./waiting.js";

const TEXT = 'event: connected\ndata: {"parts": []}\n\n';
const buildText = (...names: string[]) => names.map((name, index) => `id: ${index + 1}\nevent: gate.opened\ndata: "${name}"\n\n`);

/** A connection whose bytes the test writes; `fetch` ignores signals, as that of another library may. */
class DeafConnection {
  isCancelled = false;
  readonly headers: Headers[] = [];
  readonly pieces: (string | Error)[];

  /** `pieces` come one after the other, then nothing more. */
  constructor(...pieces: (string | Error)[]) {
    this.pieces = pieces;
  }

  readonly fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
    this.headers.push(init!.headers as Headers);
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        const piece = this.pieces.shift();
        if (piece instanceof Error) controller.error(piece);
        else if (piece !== undefined) controller.enqueue(new TextEncoder().encode(piece));
        else return new Promise(() => {});
      },
      cancel: () => void (this.isCancelled = true),
    }, { highWaterMark: 0 });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };

  open(options: object = {}): GatepostClient {
    return new GatepostClient({ url: "http://gateway", clock: new TestClock(), fetch: this.fetch, ...options });
  }
}

test("no event comes after the signal is aborted, also if it was in the same piece", async () => {
  const controller = new AbortController();
  const connection = new DeafConnection(TEXT + buildText("a", "b", "c").join(""));
  const names: unknown[] = [];
  for await (const { data } of connection.open().watchAll({}, { signal: controller.signal })) {
    names.push(data);
    if (names.length === 2) controller.abort();
  }
  assert.deepEqual(names, ["a", "b"]);
  assert.ok(connection.isCancelled);
});

test("a reader that leaves closes the connection, and a slow one is not read for", async () => {
  const connection = new DeafConnection(TEXT, ...buildText("a", "b", "c"));
  assert.equal((await take(connection.open().watchAll(), 1)).length, 1);
  assert.ok(connection.isCancelled);
  assert.equal(connection.pieces.length, 2, "what nobody has asked for is not read");
});

test("a connection that breaks within an event goes on after the last whole one", async () => {
  const [first, second] = buildText("a", "b");
  const connection = new DeafConnection(TEXT + first, second!.slice(0, -5), new Error("reset"), second!);
  const events = await take(connection.open().watchAll({}, { after: "0" }), 2);
  assert.deepEqual(events.map(({ data, id }) => [data, id]), [["a", "1"], ["b", "2"]]);
  assert.deepEqual(connection.headers.map((headers) => headers.get("last-event-id")), ["0", "1"]);
});

test("a token that does not come keeps nobody: neither a call nor a stream", async () => {
  const connection = new DeafConnection(TEXT);
  const clock = new TestClock();
  const client = connection.open({ clock, retryTime: 0, token: () => new Promise<string>(() => {}) });
  const reason = new Error("enough");
  const controller = new AbortController();
  const call = assert.rejects(client.listAgents({}, { signal: controller.signal }), reason);
  const stream = take(client.watchAll({}, { signal: controller.signal }), 1);
  await clock.nextTimer(30_000);
  controller.abort(reason);
  await call;
  assert.deepEqual(await stream, []);
  const late = assert.rejects(client.listAgents(), /no answer for 30 seconds/);
  await clock.nextTimer(30_000);
  clock.advance(30_000);
  await late;
});

test("a listener that fails keeps no event from the others", async (context) => {
  const failures: unknown[] = [];
  const enqueue = globalThis.queueMicrotask;
  context.mock.method(globalThis, "queueMicrotask", (callback: () => void) =>
    enqueue(() => {
      try {
        callback();
      } catch (error) {
        failures.push(error);
      }
    }),
  );
  const gateway = new ScriptedGateway(page());
  const feed = openFeed(gateway.client);
  const faulty: FeedListener = {
    onEvent: () => {
      throw new Error("faulty");
    },
    onStatus: () => {},
  };
  const names: string[] = [];
  let resolve = () => {};
  const [opened, arrived] = [new Promise<void>((settle) => (resolve = settle)), Answer.create()];
  const stops = [
    feed.subscribe(faulty),
    feed.subscribe({
      onEvent: ({ event }: GatepostEvent) => names.push(event) === 2 && arrived.give({}),
      onStatus: (status) => status === "open" && resolve(),
    }),
  ];
  await opened;
  gateway.send("space.message", buildMessage(1), "1");
  gateway.send("gate.opened", {}, "2");
  await arrived;
  assert.deepEqual([names, feed.status], [["space.message", "gate.opened"], "open"]);
  for (const stop of stops) stop();
  assert.deepEqual(failures.map(String), ["Error: faulty", "Error: faulty"], "and its failure is not hidden");
});

test("a timer that is longer than a timer can be does not end at once", async (context) => {
  const durations: number[] = [];
  context.mock.method(globalThis, "setTimeout", (_: () => void, duration: number) => durations.push(duration));
  const client = new GatepostClient({ url: "http://gateway", timeout: Infinity, fetch: async () => Response.json(page()) });
  await client.listAgents();
  assert.deepEqual(durations, [2 ** 31 - 1]);
});

/** The hooks of a component as React has them in StrictMode: made twice, and mounted, unmounted and mounted again. */
class StrictComponent<State> {
  readonly #values: { current: unknown; dependencies?: readonly unknown[] }[] = [];
  readonly #effects: (() => () => void)[] = [];
  #cleanUps: (() => void)[] = [];
  #index = 0;
  #isMounted = false;
  state!: State;
  readonly #listeners = new Set<() => void>();
  readonly #useHook: () => State;

  readonly library = {
    useEffect: (effect: () => () => void) => {
      if (!this.#isMounted) this.#effects.push(effect);
    },
    useMemo: <Value>(create: () => Value): Value => {
      const index = this.#index++;
      this.#values[index] ??= { current: (create(), create()) };
      return this.#values[index].current as Value;
    },
    useState: <Value>(initial: Value): [Value, (value: Value) => void] => {
      const index = this.#index++;
      const cell = (this.#values[index] ??= { current: initial });
      const set = (value: Value) => {
        if (Object.is(cell.current, value)) return;
        cell.current = value;
        this.#render();
      };
      return [cell.current as Value, set];
    },
  };

  constructor(useHook: (component: StrictComponent<State>) => () => State) {
    this.#useHook = useHook(this);
    this.#render();
    this.#isMounted = true;
    this.#mount();
    this.unmount();
    this.#mount();
  }

  #render(): void {
    this.#index = 0;
    this.state = this.#useHook();
    for (const listener of this.#listeners) listener();
  }

  #mount(): void {
    this.#cleanUps = this.#effects.map((effect) => effect());
  }

  unmount(): void {
    for (const cleanUp of this.#cleanUps.splice(0)) cleanUp();
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

test("a hook that is mounted twice, as in StrictMode, has one stream in the end and none when it is gone", async () => {
  const gateway = new ScriptedGateway(page(buildMessage(1)));
  const signals: AbortSignal[] = [];
  const feed = new Feed((options) => {
    signals.push(options.signal!);
    return gateway.client.watchAll({}, options);
  });
  const component = new StrictComponent<UseSpace>((self) => {
    const { useSpace } = createHooks(self.library);
    return () => useSpace(gateway.client, "q4", { feed });
  });
  await waitFor(component, (state) => !state.isLoading && state.isLive);
  gateway.post(2);
  await waitFor(component, (state) => state.messages.length === 2);
  assert.deepEqual(signals.map((signal) => signal.aborted), [true, false]);
  component.unmount();
  assert.deepEqual([feed.status, ...signals.map((signal) => signal.aborted)], ["closed", true, true]);
  const stop = keepAlive({ subscribe: (listener) => feed.subscribe({ onEvent: listener, onStatus: listener }) });
  assert.equal(signals.length, 3, "it opens again");
  stop();
});
