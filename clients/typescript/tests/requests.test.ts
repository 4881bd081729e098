import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";

import { GatepostClient, GatepostError } from "@gatepost/client";

import { TestClock } from "./clock.js";
import { Gateway, seed } from "./gateway.js";
import { type Outcome, Proxy } from "./proxy.js";

let gateway: Gateway;
let proxy: Proxy;
let clock: TestClock;
/** A client whose requests go through the proxy. */
let client: GatepostClient;

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
  assert.deepEqual(proxy.outcomes, [], "all were met");
  proxy.requests.length = 0;
});
after(async () => {
  proxy.close();
  await gateway.remove();
});

async function listContents(name: string): Promise<string[]> {
  const contents: string[] = [];
  for await (const item of client.pages(client.listInbox, { name })) contents.push(item.content);
  return contents;
}

const OPTIONS = [{ id: "y", label: "Yes" }];
const FATES: Outcome[][] = [["lost"], ["unanswered"], ["half"], ["unanswered", 503, "lost", 502], ["half", 429, 504]];

for (const fates of FATES) {
  test(`writes are done once: ${fates.join(", ")}`, async () => {
    const content = `precious, ${fates.join()}`;
    proxy.outcomes.push(...fates);
    const message = await client.postMessage({ id: "q4-report", content, sender: "husam" });
    proxy.outcomes.push(...fates);
    const push = await client.pushEvent({ to: "designer", content });
    assert.deepEqual(push.recipients.map((recipient) => recipient.duplicate), [false], "its own first try is none");
    proxy.outcomes.push(...fates);
    await client.registerEntity({ name: `quinn-${fates.length}-${fates[0]}`, kind: "agent" });
    const keys = proxy.requests.map((request) => request.headers["idempotency-key"]);
    assert.equal(keys.length, 3 * (fates.length + 1));
    assert.equal(new Set(keys).size, 3, "one key a call");
    const { items } = await client.readMessages({ id: "q4-report" });
    assert.deepEqual(items.filter((item) => item.content === content), [message]);
    assert.equal((await listContents("designer")).filter((text) => text === content).length, 1);
  });
}

test("reads are tried again, and so is what changes nothing when it is repeated", async () => {
  proxy.outcomes.push("lost", 503, "half");
  assert.equal((await client.showSpace({ id: "q4-report" })).name, "Q4 report");
  proxy.outcomes.push("unanswered");
  assert.equal((await client.markRead({ id: "q4-report", seq: 1, name: "husam" })).name, "husam");
});

test("what must not be repeated is sent once", async () => {
  for (const outcome of ["lost", "unanswered", 503] as const) {
    proxy.outcomes.push(outcome);
    await assert.rejects(client.claimBatch({ name: "analyst", owner: "s-1" }), GatepostError);
  }
  assert.equal(proxy.requests.length, 3);
  proxy.outcomes.push("unanswered");
  const claim = client.claimBatch({ name: "analyst", owner: "s-1" }, { idempotencyKey: "mine" });
  await assert.rejects(claim, (error: GatepostError) => error.status === 0);
  assert.equal(proxy.requests.length, 4, "a key does not make it repeatable");
});

test("a push with a dedup key, and an alert, need no idempotency key", async () => {
  proxy.outcomes.push("unanswered");
  const push = await client.pushEvent({ to: "designer", content: "red", dedupKey: "ci:1" });
  assert.deepEqual(push.recipients.map((recipient) => recipient.duplicate), [true]);
  proxy.outcomes.push("unanswered");
  await client.pushEvents({ pushes: [{ to: "designer", content: "red", type: "alert" }] });
  assert.ok(proxy.requests.every((request) => request.headers["idempotency-key"] === undefined));
  assert.equal((await listContents("designer")).filter((text) => text === "red").length, 2);
});

test("a caller's own key makes two calls one", async () => {
  const request = { id: "q4-report", content: "once", sender: "husam" };
  const first = await client.postMessage(request, { idempotencyKey: "mine" });
  assert.deepEqual(await client.postMessage(request, { idempotencyKey: "mine" }), first);
});

test("Retry-After is honoured", async () => {
  proxy.outcomes.push(429);
  proxy.retryAfter = "1";
  await client.listAgents();
  assert.deepEqual(clock.pauses, [1000]);
  proxy.outcomes.push(503);
  proxy.retryAfter = new Date(clock.now() + 7_000).toUTCString();
  await client.listAgents();
  assert.deepEqual(clock.pauses, [1000, 7000], "a date");
  proxy.outcomes.push(503);
  proxy.retryAfter = "60";
  const error = await client.listAgents().catch((reason: unknown) => reason);
  assert.ok(error instanceof GatepostError && error.status === 503, "too late for this caller");
  assert.equal(clock.pauses.length, 2);
  proxy.retryAfter = "0";
});

test("an error has the type, status, detail and hint of the problem", async () => {
  const error = await client.pushEvent({ to: "analist", content: "?" }).catch((reason: unknown) => reason);
  assert.ok(error instanceof GatepostError);
  assert.equal(error.type, "urn:gatepost:problem:unknown-address");
  assert.ok(error.is("unknown-address"));
  assert.equal(error.status, 404);
  assert.equal(error.detail, "there is no entity 'analist'");
  assert.equal(error.hint, "did you mean 'analyst'?");
  assert.equal(error.message, "there is no entity 'analist' (hint: did you mean 'analyst'?)");
  assert.equal(proxy.requests.length, 1, "it is not tried again");
});

test("a late answer names the first", async () => {
  const asked = await client.askDecision({ question: "Ship?", options: OPTIONS, asker: "analyst", of: ["husam"] });
  await client.answerDecision({ id: asked.id, option: "y", by: "husam" });
  const late = await client.answerDecision({ id: asked.id, option: "y" }).catch((reason: unknown) => reason);
  assert.ok(late instanceof GatepostError && late.is("late"));
  assert.equal(late.answer?.by, "husam");
});

test("a gateway that is not there is named", async () => {
  const nobody = new GatepostClient({ url: "http://127.0.0.1:9", clock });
  const error = await nobody.listAgents().catch((reason: unknown) => reason);
  assert.ok(error instanceof GatepostError && error.is("unavailable") && error.status === 0);
  assert.match(error.message, /cannot be reached: .*gatepost up/);
  const waited = clock.pauses.reduce((sum, pause) => sum + pause, 0);
  assert.ok(waited > 28_000 && waited <= 30_000, `it was tried again for ${waited} ms`);
});

test("what cannot be a client is refused at once", async () => {
  assert.throws(() => new GatepostClient(), /`url` is missing/);
  assert.throws(() => new GatepostClient({ url: "127.0.0.1" }), TypeError);
  assert.throws(() => gateway.open({ key: "two\nlines" }), TypeError);
  const failing = gateway.open({ token: () => Promise.reject(new Error("no token")) });
  await assert.rejects(failing.listAgents(), /no token/);
});

test("a try that lasts longer than the tries may last is the last one", async () => {
  const slow = gateway.open({
    url: proxy.url,
    clock,
    retryTime: 300,
    fetch: (input, init) => fetch(input, init).finally(() => clock.advance(301)),
  });
  proxy.outcomes.push("unanswered");
  await assert.rejects(slow.showSpace({ id: "q4-report" }), (error: GatepostError) => error.status === 0);
  assert.deepEqual([proxy.requests.length, clock.pauses], [1, []]);
});

test("a caller can leave, and a try takes only so long", async () => {
  const reason = new Error("enough");
  await assert.rejects(client.listAgents({}, { signal: AbortSignal.abort(reason) }), reason);
  const controller = new AbortController();
  proxy.outcomes.push(503);
  proxy.retryAfter = "20";
  clock.hold();
  const waiting = client.listAgents({}, { signal: controller.signal });
  await clock.nextPause();
  controller.abort(reason);
  await assert.rejects(waiting, reason, "while it waits");
  assert.deepEqual(clock.pauses, [20_000]);
  proxy.retryAfter = "0";
  const stuck = new GatepostClient({ url: gateway.url, fetch: () => new Promise(() => {}), clock, timeout: 20_000, retryTime: 0 });
  const timedOut = assert.rejects(stuck.listAgents(), /no answer for 20 seconds/);
  await clock.nextTimer(20_000);
  clock.advance(20_000);
  await timedOut;
  assert.equal(clock.timerCount, 0, "no timer is left");
});

test("many pushes are done once, more than a batch has too", async () => {
  const pushes = Array.from({ length: 1_100 }, (_, index) => ({ to: "designer", content: `many ${index}` }));
  proxy.outcomes.push("unanswered", "lost");
  const outcomes = await client.pushMany([...pushes, { to: "dessigner" }]);
  assert.deepEqual(outcomes.map((outcome) => outcome.status), [...pushes.map(() => 201), 404]);
  assert.ok(outcomes.every((outcome) => !outcome.recipients?.some((recipient) => recipient.duplicate)));
  const contents = (await listContents("designer")).filter((content) => content.startsWith("many "));
  assert.deepEqual(contents, pushes.map((push) => push.content));
  assert.equal(proxy.requests.filter((request) => request.method === "POST").length, 2 + 2);
  assert.deepEqual(await client.pushMany([]), []);
});

test("pages come one after the other", async () => {
  const buildPush = (_: unknown, index: number) => ({ to: "analyst", content: `page ${index}`, dedupKey: `p${index}` });
  const pushes = Array.from({ length: 25 }, buildPush);
  await client.pushEvents({ pushes });
  const contents: string[] = [];
  for await (const item of client.pages(client.listInbox, { name: "analyst", text: "page ", limit: 10 })) {
    contents.push(item.content);
  }
  assert.deepEqual(contents, pushes.map((push) => push.content));
  assert.equal(proxy.requests.filter((request) => request.method === "GET").length, 3);
  const seqs: number[] = [];
  const request = { id: "q4-report", afterSeq: 0, limit: 2 };
  for await (const message of client.pages(client.readMessages, request)) seqs.push(message.seq);
  assert.deepEqual(seqs, seqs.map((_, index) => index + 1));
  for await (const agent of client.pages(client.listAgents, {})) {
    assert.equal(typeof agent.name, "string");
    break;
  }
});

test("names and values are encoded", async () => {
  const name = "Ünï cödé & co?#%";
  await client.createSpace({ id: "odd", name });
  assert.equal((await client.showSpace({ id: "odd" })).name, name);
  await assert.rejects(async () => client.showSpace({ id: "a/b" }), TypeError);
  await assert.rejects(client.showSpace({ id: ".." }), (error: GatepostError) => error.status === 404);
  assert.equal((await client.listAgents({ retired: false, team: undefined })).items[0]?.name, "analyst");
  assert.equal(await client.removeMember({ id: "q4-report", name: "analyst" }), undefined, "an answer without a body");
  assert.match(await client.readMetrics(), /^# HELP/m, "an answer that is no JSON");
  assert.equal((await client.showHealth()).ready, true);
});

test("credentials are sent, and headers of the page", async () => {
  const agentKey = (await client.createKey({ agent: "analyst" })).key;
  const own = gateway.open({ url: proxy.url, key: agentKey, headers: { "x-page": "1" } });
  assert.equal((await own.listInbox({ name: "analyst" })).items.length > 0, true);
  assert.equal(proxy.requests.at(-1)!.headers["x-page"], "1");
  await assert.rejects(own.listInbox({ name: "designer" }), (error: GatepostError) => error.is("refused"));
  const acting = gateway.open({ actAs: "husam" });
  assert.equal((await acting.postMessage({ id: "q4-report", content: "as myself" })).sender, "husam");
  const anonymous = new GatepostClient({ url: gateway.url });
  await assert.rejects(anonymous.listAgents(), (error: GatepostError) => error.is("unauthorized"));
  const tokens = ["sk_wrong", gateway.key];
  const bearer = new GatepostClient({ url: gateway.url, token: () => tokens.shift()! });
  await assert.rejects(bearer.listAgents(), (error: GatepostError) => error.status === 401);
  assert.equal((await bearer.listAgents()).items.length > 0, true);
});

test("a loop acks what it has done, and releases what it has not", async () => {
  const direct = gateway.open();
  await direct.registerEntity({ name: "worker", kind: "service" });
  for (const content of ["tea", "cake", "pie"]) await direct.pushEvent({ to: "worker", content });
  const done: string[] = [];
  const work = async (bad: string) => {
    for await (const item of direct.work("worker")) {
      if (item.content === bad) throw new Error(bad);
      done.push(item.content);
    }
  };
  await assert.rejects(work("cake"), { message: "cake" });
  const states = async () => {
    const { items } = await direct.listInbox({ name: "worker" });
    return items.map((item) => item.state);
  };
  assert.deepEqual(await states(), ["delivered", "pending", "pending"]);
  await direct.pushEvent({ to: "worker", content: "last" });
  await assert.rejects(work("last"), { message: "last" });
  assert.deepEqual(await states(), ["delivered", "delivered", "delivered", "pending"]);
  assert.deepEqual(done, ["tea", "cake", "pie"]);
});

test("a loop goes on after lost connections, and ends when it is told to", async () => {
  await client.registerEntity({ name: "runner", kind: "service" });
  await client.pushEvent({ to: "runner", content: "tea" });
  proxy.outcomes.push("lost", 503);
  const end = new AbortController();
  const done: string[] = [];
  for await (const item of client.work("runner", { signal: end.signal })) {
    done.push(item.content);
    end.abort();
  }
  assert.deepEqual(done, ["tea"]);
  const { items } = await client.listInbox({ name: "runner" });
  assert.deepEqual(items.map((item) => item.state), ["delivered"]);
});
