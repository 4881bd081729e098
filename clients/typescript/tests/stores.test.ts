/** Stores and moments that a real gateway cannot be asked for: the test decides what is answered, and when. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { DecisionsStore, InboxStore, openFeed, SpaceStore } from "@gatepost/client";
import { useSpace } from "@gatepost/client/preact";

import { RenderedHook } from "./rendering.js";
import { Answer, buildMessage, frame, keepAlive, page, ScriptedGateway } from "./scripted.js";
import { waitFor } from "./waiting.js";

test("what happens during a load is not undone by its answer", async () => {
  let answer = (_: object) => {};
  const gateway = new ScriptedGateway(new Promise<object>((resolve) => (answer = resolve)));
  const store = new DecisionsStore(gateway.client, { pending: true });
  const stop = keepAlive(store);
  await waitFor(store, (state) => state.isLive);
  gateway.send("decision.asked", { id: "dec_1", status: "pending", asked: ["ann"] });
  gateway.send("decision.asked", { id: "dec_2", status: "pending", asked: ["ann"] });
  gateway.send("decision.answered", { id: "dec_2", status: "answered", asked: ["ann"] });
  answer(page({ id: "dec_0", status: "pending", asked: ["ann"] }, { id: "dec_2", status: "pending", asked: ["ann"] }));
  await waitFor(store, (state) => state.decisions.map(({ id }) => id).join() === "dec_0,dec_1");
  stop();
});

test("texts grow, end with their message, and are dropped when frames may have been lost", async () => {
  const gateway = new ScriptedGateway(page(buildMessage(1)), page());
  const store = new SpaceStore(gateway.client, "q4");
  const stop = keepAlive(store);
  await waitFor(store, (state) => !state.isLoading);
  assert.equal(store.state.isRunning, false);
  gateway.send("space.message.streaming", frame("a", { phase: "start" }));
  gateway.send("space.message.streaming", frame("a", { phase: "delta", delta: "Hel" }));
  gateway.send("space.message.streaming", frame("b", { phase: "delta", delta: "world" }));
  gateway.send("space.message.streaming", frame("elsewhere", { phase: "start", spaceId: "other" }));
  gateway.send("space.message.streaming", frame("a", { phase: "delta", delta: "lo" }));
  const { streams, isRunning } = await waitFor(store, (state) => state.streams.a?.text === "Hello");
  assert.deepEqual(Object.keys(streams), ["a", "b"]);
  assert.deepEqual([streams.a!.isPartial, streams.b!.isPartial, isRunning], [false, true, true]);
  const { messages } = store.state;
  gateway.send("space.message.streaming", frame("b", { phase: "done", messageId: "msg_9" }));
  await waitFor(store, (state) => !("b" in state.streams));
  assert.equal(store.state.messages, messages, "a text does not change the messages");
  gateway.post(2, { data: { streamId: "a" } });
  await waitFor(store, (state) => state.messages.length === 2 && !state.isRunning);
  for (const [streamId, runId] of [["c", "run_2"], ["d", "run_3"], ["e", "run_4"]]) {
    gateway.send("space.message.streaming", frame(streamId!, { phase: "start", runId }));
  }
  gateway.send("space.message.failed", frame("c", { reason: "no" }));
  gateway.send("agent.active", { agent: "ann", agentName: "Ann", runId: "run_4" });
  gateway.send("agent.inactive", { agent: "bob", agentName: "Bob", runId: "run_3" });
  await waitFor(store, (state) => Object.keys(state.streams).join() === "e" && state.activeAgents.join() === "ann");
  gateway.cut();
  await waitFor(store, (state) => !state.isLive);
  await waitFor(store, (state) => state.isLive && !state.isRunning && state.activeAgents.length === 0);
  stop();
});

test("messages that come twice or out of order are shown once, in order", async () => {
  const gateway = new ScriptedGateway(page(buildMessage(3), buildMessage(4)), page(buildMessage(5), buildMessage(6)));
  const store = new SpaceStore(gateway.client, "q4");
  const stop = keepAlive(store);
  await waitFor(store, (state) => !state.isLoading);
  gateway.post(4);
  gateway.post(2);
  gateway.post(5);
  gateway.post(1, { space: "other" });
  await waitFor(store, (state) => state.messages.length === 4);
  gateway.cut();
  const { messages } = await waitFor(store, (state) => state.messages.length === 5);
  assert.deepEqual(messages.map(({ seq }) => seq), [2, 3, 4, 5, 6]);
  stop();
});

test("a load that was asked for before the feed was lost may answer before it opens again", async () => {
  const load = Answer.create();
  const gateway = new ScriptedGateway(page(buildMessage(1)), load, page(buildMessage(2), buildMessage(3)));
  const feed = openFeed(gateway.client);
  const store = new SpaceStore(gateway.client, "q4", { feed });
  const stop = keepAlive(store);
  await waitFor(store, (state) => !state.isLoading);
  const listSeqs = () => store.state.messages.map(({ seq }) => seq);
  const loading = store.refresh();
  await gateway.waitForRequests(2);
  gateway.clock.hold();
  gateway.cut();
  await waitFor(store, (state) => !state.isLive);
  load.give(page(buildMessage(2)));
  await loading;
  assert.deepEqual([listSeqs(), store.state.isLive, feed.status], [[1, 2], false, "waiting"], "shown, and said to be old");
  gateway.clock.release();
  await waitFor(store, (state) => state.messages.length === 3);
  assert.deepEqual([listSeqs(), store.state.isLive, feed.status], [[1, 2, 3], true, "open"]);
  stop();
});

test("a new item or decision is shown if the filter lets it through, in the order of the list", async () => {
  const buildItem = (eventId: string, fields: object = {}) => {
    return { eventId, recipient: "ann", state: "pending", content: "", priority: 2, ref: null, route: null, ...fields };
  };
  const route = { channel: "web", sessionId: "web-main" };
  const inbox = new ScriptedGateway(page(buildItem("evt_1", { priority: 1, route })));
  const filter = { priority: 1, channel: "web", newestFirst: true };
  const store = new InboxStore(inbox.client, "ann", filter);
  const stop = keepAlive(store);
  await waitFor(store, (state) => !state.isLoading);
  inbox.send("inbox.item", buildItem("evt_2", { route }));
  inbox.send("inbox.item", buildItem("evt_3", { priority: 1 }));
  inbox.send("inbox.item", buildItem("evt_4", { priority: 1, route: { ...route, channel: "cli" } }));
  inbox.send("inbox.item", buildItem("evt_5", { priority: 1, route }));
  const { items } = await waitFor(store, (state) => state.items.length > 1);
  assert.deepEqual(items.map(({ eventId }) => eventId), ["evt_5", "evt_1"]);
  stop();

  const gateway = new ScriptedGateway(page({ id: "dec_1", status: "pending", asked: [] }));
  const decisions = new DecisionsStore(gateway.client, { newestFirst: true });
  const stopDecisions = keepAlive(decisions);
  await waitFor(decisions, (state) => !state.isLoading);
  gateway.send("decision.asked", { id: "dec_2", status: "pending", asked: [] });
  const state = await waitFor(decisions, ({ decisions: list }) => list.length === 2);
  assert.deepEqual(state.decisions.map(({ id }) => id), ["dec_2", "dec_1"]);
  stopDecisions();
});

test("a store works while it has a listener, and again when it has one again", async () => {
  const gateway = new ScriptedGateway(page(buildMessage(1)), page(buildMessage(2)), page());
  const feed = openFeed(gateway.client);
  const store = new SpaceStore(gateway.client, "q4", { feed });
  assert.equal(feed.status, "closed");
  const [stopFirst, stopSecond] = [keepAlive(store), keepAlive(store)];
  await waitFor(store, (state) => !state.isLoading);
  stopFirst();
  assert.equal(feed.status, "open");
  stopSecond();
  assert.deepEqual([feed.status, store.state.isLive], ["closed", false]);
  const stop = keepAlive(store);
  await waitFor(store, (state) => state.messages.length === 2);
  assert.equal(feed.status, "open");
  gateway.send("agent.active", { agent: "ann", agentName: "Ann", runId: "run_1" });
  gateway.send("agent.active", { agent: "bob", agentName: "Bob", runId: "run_2", spaceId: "q4" });
  const { activeAgents } = await waitFor(store, (state) => state.activeAgents.length > 0);
  assert.deepEqual(activeAgents, ["bob"], "a feed of several spaces has to say which one it means");
  stop();
});

test("a hook renders every state, also if its events come at once", async () => {
  const gateway = new ScriptedGateway(page(buildMessage(1)));
  const hook = new RenderedHook(() => useSpace(gateway.client, "q4"));
  await waitFor(hook, (state) => !state.isLoading);
  const states: string[][] = [];
  const stop = hook.subscribe(() => states.push([...hook.state.activeAgents]));
  const activity = { agent: "bob", agentName: "Bob", runId: "run_1", spaceId: "q4" };
  gateway.sendAll(["agent.active", activity], ["agent.inactive", activity], ["space.message", buildMessage(2), "2"]);
  await waitFor(hook, (state) => state.messages.length === 2);
  assert.deepEqual(states, [["bob"], [], []]);
  stop();
  hook.unmount();
});
