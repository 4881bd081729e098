import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setImmediate } from "node:timers/promises";

import { type GatepostClient, GatepostError, openFeed, type SpaceState } from "@gatepost/client";
import { useAgents, useDecisions, useInbox, useSpace } from "@gatepost/client/preact";

import { Gateway, seed } from "./gateway.js";
import { Proxy } from "./proxy.js";
import { RenderedHook } from "./rendering.js";
import { waitFor } from "./waiting.js";

let gateway: Gateway;
let proxy: Proxy;
let admin: GatepostClient;
/** Husam, through the proxy. */
let husam: GatepostClient;

before(async () => {
  gateway = await Gateway.create();
  admin = gateway.open();
  await seed(admin);
  proxy = await Proxy.create(() => gateway.url);
  husam = gateway.open({ url: proxy.url, actAs: "husam", retryTime: 300 });
});
after(async () => {
  proxy.close();
  await gateway.remove();
});

const listContents = (state: SpaceState) => state.messages.map((message) => message.content);

test("useSpace shows messages as they are posted, and older ones when asked", async () => {
  for (let index = 0; index < 5; index += 1) {
    await admin.postMessage({ id: "q4-report", content: `m${index}`, sender: "analyst" });
  }
  const hook = new RenderedHook(
    () => useSpace(husam, "q4-report", { limit: 2 }),
    (state) => listContents(state).join(" "),
  );
  assert.equal(hook.state.isLoading, true);
  await waitFor(hook, (state) => !state.isLoading);
  assert.deepEqual([listContents(hook.state), hook.state.hasOlder, hook.text], [["m3", "m4"], true, "m3 m4"]);
  await admin.postMessage({ id: "q4-report", content: "m5", sender: "analyst" });
  await waitFor(hook, (state) => state.messages.length === 3);
  await hook.state.loadOlder();
  await Promise.all([hook.state.loadOlder(), hook.state.loadOlder()]);
  await waitFor(hook, (state) => state.messages.length === 6);
  assert.deepEqual([hook.text, hook.state.hasOlder], ["m0 m1 m2 m3 m4 m5", false]);
  await hook.state.markRead();
  const members = await admin.listMembers({ id: "q4-report" });
  assert.equal(members.items.find((member) => member.name === "husam")?.readSeq, 6);
  hook.unmount();
});

test("useSpace shows a sent message at once, once, and in its place", async () => {
  const hook = new RenderedHook(() => useSpace(husam, "q4-report"));
  const before = (await waitFor(hook, (state) => !state.isLoading)).messages.length;
  const seen: number[] = [];
  const stop = hook.subscribe(() => seen.push(hook.state.messages.length + hook.state.sent.length));
  proxy.outcomes.push("unanswered");
  const sending = hook.state.send("hello");
  await waitFor(hook, (state) => state.sent.length === 1 || state.messages.length > before);
  const message = await sending;
  await waitFor(hook, (state) => state.messages.length === before + 1 && state.sent.length === 0);
  stop();
  assert.equal(hook.state.messages.at(-1)?.id, message.id);
  assert.ok(seen.every((count) => count <= before + 1), "never two of it");
  hook.unmount();
});

test("useSpace keeps what could not be sent, to send it again or to forget it", async () => {
  const hook = new RenderedHook(() => useSpace(husam, "q4-report"));
  const before = (await waitFor(hook, (state) => !state.isLoading)).messages.length;
  proxy.outcomes.push(...Array.from({ length: 20 }, () => 503 as const));
  await assert.rejects(hook.state.send("later"), (error: GatepostError) => error.status === 503);
  proxy.outcomes.length = 0;
  const failed = (await waitFor(hook, (state) => state.sent[0]?.error !== undefined)).sent[0]!;
  await hook.state.resend(failed.key);
  await waitFor(hook, (state) => state.messages.length === before + 1 && state.sent.length === 0);
  await assert.rejects(hook.state.send("x".repeat(300_001)));
  hook.state.discard((await waitFor(hook, (state) => state.sent.length === 1)).sent[0]!.key);
  await waitFor(hook, (state) => state.sent.length === 0);
  hook.unmount();
});

test("useSpace shows what an agent writes, and isRunning while it writes", async () => {
  await admin.registerAgent({ name: "demo", model: "demo", instructions: "Answer." });
  await admin.addMember({ id: "q4-report", name: "demo" });
  const hook = new RenderedHook(() => useSpace(husam, "q4-report"));
  await waitFor(hook, (state) => !state.isLoading);
  let streamed = "";
  let wasActive = false;
  const isConsistent = new Set<boolean>();
  const stop = hook.subscribe(() => {
    const texts = Object.values(hook.state.streams).map((stream) => stream.text);
    isConsistent.add(hook.state.isRunning === texts.length > 0);
    streamed = texts[0] ?? streamed;
    wasActive ||= hook.state.activeAgents.includes("demo");
  });
  await hook.state.send("What is the revenue of the fourth quarter, and why did it grow so much since last year?");
  const isAnswer = (state: SpaceState) => state.messages.at(-1)?.sender === "demo" && !state.isRunning;
  const state = await waitFor(hook, (now) => isAnswer(now) && now.activeAgents.length === 0);
  stop();
  assert.deepEqual([wasActive, ...isConsistent], [true, true]);
  assert.match(streamed, /^\(demo\)/);
  assert.ok(state.messages.at(-1)!.content.startsWith(streamed));
  hook.unmount();
});

test("useSpace loses and doubles nothing when the connection is lost", async () => {
  const feed = openFeed(husam);
  const hook = new RenderedHook(() => useSpace(husam, "q4-report", { feed }));
  const before = (await waitFor(hook, (state) => !state.isLoading)).messages.length;
  for (let index = 0; index < 10; index += 1) {
    await admin.postMessage({ id: "q4-report", content: `lost? ${index}`, sender: "analyst" });
    if (index % 4 === 2) proxy.cut();
  }
  // A load that was tried again may bring the last message before the feed is open: it goes on only then.
  await waitFor(hook, ({ isLive, messages }) => isLive && messages.some(({ content }) => content === "lost? 9"));
  await admin.postMessage({ id: "q4-report", content: "lost? 10", sender: "analyst" });
  const state = await waitFor(hook, ({ messages }) => messages.some(({ content }) => content === "lost? 10"));
  const contents = listContents(state).filter((content) => content.startsWith("lost?"));
  assert.deepEqual(contents, Array.from({ length: 11 }, (_, index) => `lost? ${index}`));
  assert.ok(state.messages.length >= Math.min(before, 10));
  assert.equal(feed.status, "open");
  hook.unmount();
  const isClosed = () => feed.status === "closed";
  while (!isClosed()) await setImmediate(); // nobody listens, once Preact has cleaned up
});

test("useInbox shows items as they come, and what is done with them", async () => {
  await admin.pushEvent({ to: "husam", content: "one", subject: "for the inbox" });
  const feed = openFeed(husam);
  const hook = new RenderedHook(() => useInbox(husam, "husam", { text: "for the inbox", state: "all", feed }));
  const first = (await waitFor(hook, (state) => state.items.length === 1)).items[0]!;
  await admin.pushEvent({ to: "husam", content: "two", subject: "for the inbox" });
  await admin.pushEvent({ to: "husam", content: "something else" });
  await waitFor(hook, (state) => state.items.length === 2);
  const completing = hook.state.complete(first.eventId);
  await waitFor(hook, (state) => state.items[0]?.state === "delivered");
  await completing;
  const pending = new RenderedHook(() => useInbox(husam, "husam", { text: "for the inbox", feed }));
  const { items } = await waitFor(pending, (state) => !state.isLoading);
  assert.deepEqual(items.map(({ content }) => content), ["two"]);
  pending.unmount();
  const second = hook.state.items[1]!;
  await hook.state.discard(second.eventId);
  await hook.state.replay(second.eventId);
  await waitFor(hook, (state) => state.items[1]?.state === "pending");
  await assert.rejects(hook.state.complete("evt_unknown"));
  const limited = new RenderedHook(() => useInbox(husam, "husam", { text: "for the inbox", state: "all", limit: 1, feed }));
  await waitFor(limited, (state) => state.items.length === 1 && state.hasMore);
  await limited.state.loadMore();
  await limited.state.loadMore(); // a full page does not know that it is the last
  await waitFor(limited, (state) => state.items.length === 2 && !state.hasMore);
  limited.unmount();
  hook.unmount();
});

test("useDecisions shows what is asked, and who was faster", async () => {
  const hook = new RenderedHook(() => useDecisions(husam, { asked: "husam", pending: true }));
  await waitFor(hook, (state) => !state.isLoading);
  const ask = (question: string) =>
    admin.askDecision({ question, options: [{ id: "y", label: "Yes" }], asker: "analyst", of: ["husam"] });
  const [first, second] = [await ask("Ship it?"), await ask("Really?")];
  await waitFor(hook, (state) => state.decisions.length === 2);
  assert.equal((await hook.state.answer(first.id, { option: "y" })).status, "answered");
  await waitFor(hook, (state) => state.decisions.length === 1);
  await admin.answerDecision({ id: second.id, option: "y", by: "husam" });
  const late = hook.state.answer(second.id, { option: "y" });
  await assert.rejects(late, (error: GatepostError) => error.is("late") && error.answer?.by === "husam");
  await waitFor(hook, (state) => state.decisions.length === 0);
  hook.unmount();
});

test("useAgents shows agents, and which of them think", async () => {
  const hook = new RenderedHook(() => useAgents(admin));
  const { agents } = await waitFor(hook, (state) => !state.isLoading);
  assert.deepEqual(agents.map((agent) => agent.name), ["analyst", "designer", "demo"]);
  let wasActive = false;
  const stop = hook.subscribe(() => (wasActive ||= "demo" in hook.state.runs));
  await admin.postMessage({ id: "q4-report", content: "Hello?", sender: "husam" });
  await waitFor(hook, (state) => wasActive && !("demo" in state.runs));
  stop();
  hook.unmount();
});

test("another space is another store, and an error is shown", async () => {
  let id = "q4-report";
  let rerender = () => {};
  const hook = new RenderedHook(() => {
    const agents = useAgents(admin);
    rerender = () => void agents.refresh();
    return useSpace(husam, id);
  });
  await waitFor(hook, (state) => state.messages.length > 0);
  id = "nowhere";
  rerender();
  const state = await waitFor(hook, ({ error }) => error !== undefined);
  assert.deepEqual([state.messages, (state.error as GatepostError).status], [[], 403]);
  hook.unmount();
});
