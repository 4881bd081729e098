import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, afterEach, before, beforeEach, test } from "node:test";

import { type GatepostEvent, GatepostClient, GatepostError, type StreamStatus } from "@gatepost/client";

import { TestClock } from "./clock.js";
import { Gateway, seed } from "./gateway.js";
import { Proxy } from "./proxy.js";
import { take } from "./waiting.js";

let gateway: Gateway;
let proxy: Proxy;
let client: GatepostClient;
let clock: TestClock;

before(async () => {
  gateway = await Gateway.create();
  await seed(gateway.open());
  proxy = await Proxy.create(() => gateway.url);
});
beforeEach(() => {
  clock = new TestClock();
  client = gateway.open({ url: proxy.url, clock });
});
afterEach(() => {
  proxy.cutAfter = () => Infinity;
});
after(async () => {
  proxy.close();
  await gateway.remove();
});

/** Return a promise of the moment when a stream is open, and the options to give to that stream. */
function openNotice() {
  let resolve = () => {};
  const promise = new Promise<void>((settle) => (resolve = settle));
  const statuses: StreamStatus[] = [];
  const onStatus = (status: StreamStatus) => {
    statuses.push(status);
    if (status === "open") resolve();
  };
  return { opened: promise, statuses, options: { onStatus } };
}

async function say(...contents: string[]): Promise<void> {
  for (const content of contents) await gateway.open().postMessage({ id: "q4-report", content, sender: "husam" });
}

function readContents(events: GatepostEvent[]): string[] {
  return events.flatMap((event) => (event.event === "space.message" ? [event.data.content] : []));
}

test("a stream begins now, or after what was read", async () => {
  await say("before");
  const notice = openNotice();
  const reading = take(client.watchSpace({ id: "q4-report" }, notice.options), 2);
  await notice.opened;
  await say("one", "two");
  const events = await reading;
  assert.deepEqual(readContents(events), ["one", "two"]);
  const again = await take(client.watchSpace({ id: "q4-report" }, { after: events[0]!.id }), 1);
  assert.deepEqual(readContents(again), ["two"]);
});

test("a connection that is cut anywhere loses nothing and doubles nothing", async () => {
  const contents = Array.from({ length: 60 }, (_, index) => `cut ${index} ${"ü😀".repeat(index)}`);
  let seed = 7;
  // Between no event and a few of them, with cuts within an event, a line and a character.
  proxy.cutAfter = () => 500 + ((seed = (seed * 7919) % 10_007) % 2500);
  const notice = openNotice();
  const reading = take(client.watchSpace({ id: "q4-report" }, notice.options), contents.length);
  await notice.opened;
  await say(...contents);
  assert.deepEqual(readContents(await reading), contents);
  assert.ok(notice.statuses.filter((status) => status === "waiting").length > 3, "it was cut several times");
});

test("a combined stream resumes in every part", async () => {
  await gateway.open().createSpace({ id: "second", name: "Second", members: ["husam"] });
  const notice = openNotice();
  const husam = gateway.open({ url: proxy.url, actAs: "husam" });
  const reading = take(husam.watchAll({}, notice.options), 30);
  await notice.opened;
  for (let index = 0; index < 10; index += 1) {
    await gateway.open().postMessage({ id: "q4-report", content: `first ${index}`, sender: "analyst" });
    await gateway.open().postMessage({ id: "second", content: `second ${index}`, sender: "husam" });
    await gateway.open().pushEvent({ to: "husam", content: `item ${index}` });
    if (index % 3 === 1) proxy.cut();
  }
  const events = await reading;
  const keys = events.map(({ event, data }) =>
    event === "space.message" ? `${data.space}/${data.seq}` : event === "inbox.item" ? data.content : event,
  );
  assert.equal(new Set(keys).size, 30, "nothing twice");
  const items = Array.from({ length: 10 }, (_, index) => `item ${index}`);
  assert.deepEqual(keys.filter((key) => key.startsWith("item")), items);
});

test("a space that the reader joins is in its combined stream", async () => {
  const notice = openNotice();
  const husam = gateway.open({ url: proxy.url, actAs: "husam" });
  const reading = take(husam.watchAll({}, notice.options), 2);
  await notice.opened;
  await say("first");
  await gateway.open().createSpace({ id: "third", name: "Third", members: ["husam", "analyst"] });
  await gateway.open().postMessage({ id: "third", content: "in the third", sender: "analyst" });
  // Each space has its order; between two spaces there is none.
  assert.deepEqual(readContents(await reading).sort(), ["first", "in the third"]);
});

for (const signal of ["SIGINT", "SIGKILL"] as const) {
  test(`a gateway that is restarted after ${signal} loses nothing and doubles nothing`, async () => {
    const notice = openNotice();
    const reading = take(client.watchSpace({ id: "q4-report" }, notice.options), 4);
    await notice.opened;
    await say("before 1", "before 2");
    clock.hold(); // until there is a gateway again
    await gateway.stop(signal);
    const posting = client.postMessage({ id: "q4-report", content: "meanwhile", sender: "husam" });
    await gateway.start();
    clock.release();
    await posting;
    await say("after");
    assert.deepEqual(readContents(await reading), ["before 1", "before 2", "meanwhile", "after"]);
    assert.ok(notice.statuses.includes("waiting"));
  });
}

test("a stream ends with its signal, and when the reader leaves", async () => {
  const controller = new AbortController();
  const notice = openNotice();
  const reading = take(client.watchSpace({ id: "q4-report" }, { ...notice.options, signal: controller.signal }), 1);
  await notice.opened;
  controller.abort();
  assert.deepEqual(await reading, []);
  assert.deepEqual(await take(client.watchSpace({ id: "q4-report" }, { signal: AbortSignal.abort() }), 1), []);
});

test("a stream that may not be read, or not any more, is an error", async () => {
  await assert.rejects(take(client.watchSpace({ id: "nowhere" }), 1), (error: GatepostError) => error.status === 404);
  const notice = openNotice();
  const analyst = gateway.open({ actAs: "analyst" });
  const reading = take(analyst.watchSpace({ id: "q4-report" }, notice.options), 1);
  await notice.opened;
  // It may end before the answer comes to who removed it.
  const isEnd = (error: GatepostError) => error.is("refused") && error.detail === "no longer a member";
  const ended = assert.rejects(reading, isEnd);
  await gateway.open().removeMember({ id: "q4-report", name: "analyst" });
  await ended;
});

/** Serve streams by a script: each request gets the next answer. */
async function serveScript(...answers: ((outgoing: ServerResponse) => void)[]) {
  const requests: IncomingMessage[] = [];
  const server = createServer((incoming, outgoing) => {
    requests.push(incoming);
    const answer = answers[Math.min(requests.length, answers.length) - 1]!;
    answer(outgoing);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url, requests, [Symbol.dispose]: close };
}

const stream = (text: string, isLast = true) => (outgoing: ServerResponse) => {
  outgoing.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  outgoing.write(text);
  if (isLast) outgoing.end();
};

test("silence, a wrong beginning and `ended` lead to where the reader was", async () => {
  using script = await serveScript(
    // It has a byte order mark, and falls silent.
    stream('\u{feff}id: 1\nevent: connected\ndata: {}\n\nid: 2\nevent: gate.opened\ndata: "a"\n\n: ping\n\n', false),
    (outgoing) => outgoing.writeHead(503, { "retry-after": "0" }).end(),
    stream('event: connected\ndata: {}\n\nevent: gate.opened\ndata: "live"\n\nid: 3\nevent: gate.opened\ndata: "h'),
    stream('event: ended\ndata: {"reason": "too slow", "resumeFrom": "2-b"}\n\n'),
    stream('id: 3\nevent: gate.opened\ndata: "b"\n\nevent: ended\ndata: {"reason": "gone"}\n\n'),
  );
  const reader = new GatepostClient({ url: script.url, clock });
  const events: unknown[] = [];
  await assert.rejects(
    async () => {
      for await (const event of reader.watchSpace({ id: "x" }, { after: "0" })) {
        events.push(event.data);
        if (events.length === 1) void clock.nextTimer(45_000).then(() => clock.advance(45_000));
      }
    },
    (error: GatepostError) => error.is("refused") && error.detail === "gone",
  );
  assert.deepEqual(events, ["a", "live", "b"]);
  const positions = script.requests.map((request) => request.headers["last-event-id"]);
  assert.deepEqual(positions, ["0", "2", "2", "2", "2-b"]);
  assert.equal(clock.timerCount, 0, "no timer is left");
});

test("what is no stream is an error", async () => {
  using script = await serveScript((outgoing) => outgoing.writeHead(200, { "content-type": "text/html" }).end("<p>"));
  await assert.rejects(take(new GatepostClient({ url: script.url }).watchAll(), 1), /is not a stream of events/);
});

test("a gateway that closes each connection is asked less and less often", async (context) => {
  const controller = new AbortController();
  using script = await serveScript(stream("id: 1\nevent: connected\ndata: {}\n\n"));
  context.mock.method(Math, "random", () => 1); // the longest pause of those that are possible
  clock.onPause = () => void (clock.pauses.length === 8 && controller.abort());
  const reader = new GatepostClient({ url: script.url, clock });
  assert.deepEqual(await take(reader.watchAll({}, { signal: controller.signal }), 1), []);
  assert.deepEqual(clock.pauses, [50, 100, 200, 400, 800, 1600, 2000, 2000]);
});

test("the pauses begin anew after a stream was open for a while", async (context) => {
  const controller = new AbortController();
  const answers = [1_000, 6_000, 0].map((duration) => (outgoing: ServerResponse) => {
    stream("id: 1\nevent: connected\ndata: {}\n\n", false)(outgoing);
    void opened.then(() => {
      clock.advance(duration);
      outgoing.end();
    });
  });
  let opened: Promise<void> = Promise.resolve();
  let resolve = () => {};
  using script = await serveScript(...answers.map((answer) => (outgoing: ServerResponse) => {
    opened = new Promise((settle) => (resolve = settle));
    answer(outgoing);
  }));
  context.mock.method(Math, "random", () => 1);
  clock.onPause = () => void (clock.pauses.length === 3 && controller.abort());
  const reader = new GatepostClient({ url: script.url, clock, silenceTimeout: 60_000 });
  const onStatus = (status: StreamStatus) => status === "open" && resolve();
  await take(reader.watchAll({}, { signal: controller.signal, onStatus }), 1);
  assert.deepEqual(clock.pauses, [50, 50, 100]);
});
