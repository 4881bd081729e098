/** What a caller changes, while a load of the same is under way: no answer brings an old state back. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { AgentsStore, DecisionsStore, GatepostError, InboxStore, SpaceStore, type InboxOptions } from "@gatepost/client";

import { Answer, buildMessage, keepAlive, page, refusal, ScriptedGateway } from "./scripted.js";
import { waitFor } from "./waiting.js";

const buildItem = (eventId: string, state = "pending") => {
  return { eventId, recipient: "ann", state, content: "", priority: 2, ref: null, route: null };
};
const buildDecision = (id: string, status = "pending") => ({ id, status, asked: ["ann"], contextHash: `hash of ${id}` });

/** Open an inbox, and record every state of its items. */
async function openInbox(gateway: ScriptedGateway, options: InboxOptions = {}) {
  const store = new InboxStore(gateway.client, "ann", { state: "all", ...options });
  const states: string[] = [];
  const stop = store.subscribe(() => states.push(listStates(store)));
  await waitFor(store, (state) => !state.isLoading);
  states.length = 0;
  return { store, states, stop };
}

const listStates = (store: InboxStore) => store.state.items.map(({ eventId, state }) => `${eventId} ${state}`).join();

test("an item that was completed during a load stays so, whichever answer comes first", async () => {
  for (const isLoadFirst of [true, false]) {
    const [load, change] = [Answer.create(), Answer.create()];
    const gateway = new ScriptedGateway(page(buildItem("evt_1")), load, change, page(buildItem("evt_1", "delivered")));
    const { store, states, stop } = await openInbox(gateway);
    const loading = store.refresh();
    await gateway.waitForRequests(2);
    const completing = store.complete("evt_1");
    await gateway.waitForRequests(3);
    const give = [
      () => (load.give(page(buildItem("evt_1"))), loading),
      () => (change.give({ items: [buildItem("evt_1", "delivered")] }), completing),
    ];
    for (const answer of isLoadFirst ? give : give.reverse()) await answer();
    assert.deepEqual([...new Set(states)], ["evt_1 delivered"], "never the old state");
    await store.refresh();
    assert.equal(listStates(store), "evt_1 delivered");
    stop();
  }
});

test("a later load has the last word", async () => {
  const change = Answer.create();
  const gateway = new ScriptedGateway(page(buildItem("evt_1")), change, page(buildItem("evt_1", "discarded")));
  const { store, stop } = await openInbox(gateway);
  const completing = store.complete("evt_1");
  change.give({ items: [buildItem("evt_1", "delivered")] });
  await completing;
  await store.refresh();
  assert.equal(listStates(store), "evt_1 discarded");
  stop();
});

test("a change that fails is undone, and no other change with it", async () => {
  const [load, first, second] = [Answer.create(), Answer.create(), Answer.create()];
  const gateway = new ScriptedGateway(page(buildItem("evt_1"), buildItem("evt_2")), first, second, load);
  const { store, stop } = await openInbox(gateway);
  const changes = [store.complete("evt_1"), store.discard("evt_2")];
  await gateway.waitForRequests(3);
  const loading = store.refresh();
  assert.equal(listStates(store), "evt_1 delivered,evt_2 discarded");
  load.give(page(buildItem("evt_1", "expired"), buildItem("evt_2"), buildItem("evt_3")));
  await loading;
  assert.equal(listStates(store), "evt_1 delivered,evt_2 discarded,evt_3 pending");
  first.give(refusal());
  await assert.rejects(changes[0]!, GatepostError);
  assert.equal(listStates(store), "evt_1 expired,evt_2 discarded,evt_3 pending", "as it was loaded meanwhile");
  second.give({ items: [buildItem("evt_2", "discarded")] });
  await changes[1];
  assert.equal(listStates(store), "evt_1 expired,evt_2 discarded,evt_3 pending");
  stop();
});

test("an item that the filter does not let through any more goes, and is in its place if that is undone", async () => {
  const changes = [Answer.create(), Answer.create()] as const;
  const gateway = new ScriptedGateway(page(buildItem("evt_1"), buildItem("evt_2"), buildItem("evt_3")), ...changes);
  const { store, stop } = await openInbox(gateway, { state: "pending" });
  const discarding = store.discard("evt_2");
  assert.equal(listStates(store), "evt_1 pending,evt_3 pending", "before the gateway has answered");
  changes[0].give({ items: [buildItem("evt_2", "discarded")] });
  await discarding;
  const replaying = store.replay("evt_2");
  assert.equal(listStates(store), "evt_1 pending,evt_2 pending,evt_3 pending");
  changes[1].give({ items: [buildItem("evt_2")] });
  await replaying;
  assert.equal(listStates(store), "evt_1 pending,evt_2 pending,evt_3 pending");
  assert.equal(gateway.requests.length, 3, "nothing is loaded for it");
  stop();
});

test("what the gateway refuses is loaded again, and what it brings to the list as well", async () => {
  const first = page(buildItem("evt_1"));
  const replayed = page(buildItem("evt_2"));
  const gateway = new ScriptedGateway(first, refusal(), page(), replayed, replayed);
  const { store, stop } = await openInbox(gateway, { state: "pending" });
  await assert.rejects(store.discard("evt_1"), GatepostError);
  await waitFor(store, (state) => state.items.length === 0);
  await store.replay("evt_2");
  await waitFor(store, () => listStates(store) === "evt_2 pending");
  stop();
});

test("the most urgent item comes first, and a new one behind those that are as urgent", async () => {
  const buildUrgent = (eventId: string, priority: number, state?: string) => ({ ...buildItem(eventId, state), priority });
  const gateway = new ScriptedGateway({ items: [buildUrgent("evt_1", 1), buildUrgent("evt_2", 2)], next: "2" });
  const { store, stop } = await openInbox(gateway, { mostUrgentFirst: true, newestFirst: true, limit: 2 });
  gateway.send("inbox.item", buildUrgent("evt_3", 3));
  gateway.send("inbox.item", buildUrgent("evt_4", 0, "delivered"));
  gateway.send("inbox.item", buildUrgent("evt_5", 1));
  const { items } = await waitFor(store, (state) => state.items.length === 3);
  assert.deepEqual(items.map(({ eventId }) => eventId), ["evt_1", "evt_5", "evt_2"], "evt_3 is on a page to come");
  assert.match(gateway.requests[0]!, /\/inbox\/ann\/peek\?limit=2$/);
  stop();
});

test("a list that was scrolled stays as long, and loads that are asked for at once are one", async () => {
  const items = Array.from({ length: 1500 }, (_, index) => buildItem(`evt_${index}`));
  const [first, second] = [{ items: items.slice(0, 1000), next: "a" }, { items: items.slice(1000), next: "b" }];
  const gateway = new ScriptedGateway(first, second);
  const { store, stop } = await openInbox(gateway, { limit: 1000 });
  await store.loadMore(500);
  gateway.answer(first, second);
  await Promise.all([store.refresh(), store.refresh(), store.refresh()]);
  assert.deepEqual([store.state.items.length, store.state.hasMore], [1500, true]);
  const queries = gateway.requests.map((url) => new URL(url).searchParams);
  const pages = queries.map((query) => [query.get("after"), query.get("limit")]);
  assert.deepEqual(pages, [[null, "1000"], ["a", "500"], [null, "1000"], ["a", "1000"]]);
  stop();
});

test("a change during a load that nobody waits for any more is not forgotten, and not kept for ever", async () => {
  const [load, change] = [Answer.create(), Answer.create()];
  const gateway = new ScriptedGateway(page(buildItem("evt_1")), load, change, page(buildItem("evt_1", "dead")));
  const { store, stop } = await openInbox(gateway);
  void store.refresh();
  await gateway.waitForRequests(2);
  const completing = store.complete("evt_1");
  change.give({ items: [buildItem("evt_1", "delivered")] });
  await completing;
  stop();
  assert.equal(listStates(store), "evt_1 delivered");
  load.give(page(buildItem("evt_1")));
  const stopAgain = keepAlive(store);
  await waitFor(store, () => listStates(store) === "evt_1 dead");
  stopAgain();
});

test("an event that is older than a load changes nothing", async () => {
  const load = Answer.create();
  const gateway = new ScriptedGateway(load);
  const store = new InboxStore(gateway.client, "ann", { state: "all", newestFirst: true });
  const stop = keepAlive(store);
  await waitFor(store, (state) => state.isLive);
  gateway.send("inbox.item", buildItem("evt_1"), "0-1");
  gateway.send("inbox.item", buildItem("evt_3"), "0-3");
  load.give(page(buildItem("evt_2"), buildItem("evt_1", "delivered")));
  await waitFor(store, (state) => state.items.length === 3);
  assert.equal(listStates(store), "evt_3 pending,evt_2 pending,evt_1 delivered");
  stop();
});

test("a page that was asked for before a load leaves no gap after it", async () => {
  const [load, more] = [Answer.create(), Answer.create()];
  const first = { items: [buildItem("evt_5"), buildItem("evt_4")], next: "4" };
  const gateway = new ScriptedGateway(first, more, load, page(buildItem("evt_4"), buildItem("evt_3")));
  const { store, stop } = await openInbox(gateway, { newestFirst: true, limit: 2 });
  const loadingMore = [store.loadMore(), store.loadMore()];
  await gateway.waitForRequests(2);
  const loading = store.refresh();
  load.give({ items: [buildItem("evt_6"), buildItem("evt_5")], next: "5" });
  await loading;
  more.give(page(buildItem("evt_3")));
  await Promise.all(loadingMore);
  const ids = store.state.items.map(({ eventId }) => eventId);
  assert.deepEqual([ids, store.state.hasMore], [["evt_6", "evt_5", "evt_4", "evt_3"], false]);
  const cursors = gateway.requests.map((url) => new URL(url).searchParams.get("after"));
  assert.deepEqual(cursors, [null, "4", null, "5"], "the second call waits for the first");
  stop();
});

test("a decision that was answered during a load does not come back", async () => {
  for (const isLoadFirst of [true, false]) {
    const [load, change] = [Answer.create(), Answer.create()];
    const first = page(buildDecision("dec_1"), buildDecision("dec_2"));
    const gateway = new ScriptedGateway(first, load, change, first);
    const store = new DecisionsStore(gateway.client, { pending: true });
    const lists = new Set<string>();
    const list = () => store.state.decisions.map(({ id }) => id).join();
    const stopAll = keepAlive(store);
    await waitFor(store, (state) => !state.isLoading);
    const loading = store.refresh();
    await gateway.waitForRequests(2);
    const answering = store.answer("dec_1", { option: "y" });
    await gateway.waitForRequests(3);
    const stop = store.subscribe(() => lists.add(list()));
    const give = [
      () => (load.give(first), loading),
      () => (change.give(buildDecision("dec_1", "answered")), answering),
    ];
    for (const answer of isLoadFirst ? give : give.reverse()) await answer();
    assert.equal(list(), "dec_2");
    assert.deepEqual([...lists].filter((ids) => ids !== "dec_2"), isLoadFirst ? ["dec_1,dec_2"] : []);
    await store.refresh();
    assert.equal(list(), "dec_1,dec_2", "a later load has the last word");
    stop();
    stopAll();
  }
});

test("a decision that is not in the list is answered as it was shown", async () => {
  const gateway = new ScriptedGateway(page(buildDecision("dec_1")), buildDecision("dec_1", "answered"));
  const store = new DecisionsStore(gateway.client, { pending: true });
  const stop = keepAlive(store);
  await waitFor(store, (state) => !state.isLoading);
  await store.answer("dec_1", { option: "y" });
  await store.answer("dec_2", { option: "y", contextHash: "hash of another page" });
  assert.deepEqual(gateway.bodies, [
    { option: "y", contextHash: "hash of dec_1" },
    { option: "y", contextHash: "hash of another page" },
  ]);
  stop();
});

test("a message that was sent during a load is kept, also if it fails", async () => {
  const [load, post] = [Answer.create(), Answer.create()];
  const gateway = new ScriptedGateway(page(buildMessage(1)), load, post, refusal());
  const store = new SpaceStore(gateway.client, "q4");
  const stop = keepAlive(store);
  await waitFor(store, (state) => !state.isLoading);
  const loading = store.refresh();
  await gateway.waitForRequests(2);
  const sending = store.send("hello");
  post.give(buildMessage(2, { content: "hello" }));
  await sending;
  load.give(page());
  await loading;
  assert.deepEqual(store.state.messages.map(({ seq }) => seq), [1, 2]);
  const failing = assert.rejects(store.send("same words"), GatepostError);
  gateway.post(3, { content: "same words", sender: "bob" }); // of somebody else
  await failing;
  await waitFor(store, (state) => state.messages.length === 3);
  assert.deepEqual(store.state.sent.map(({ content, error }) => [content, error !== undefined]), [["same words", true]]);
  stop();
});

test("a message of somebody else with the same words does not lose one that fails later", async () => {
  const post = Answer.create();
  const gateway = new ScriptedGateway(page(buildMessage(1)), post);
  const store = new SpaceStore(gateway.client, "q4");
  const stop = keepAlive(store);
  await waitFor(store, (state) => !state.isLoading);
  const failing = assert.rejects(store.send("ok"), GatepostError);
  gateway.post(2, { content: "ok", sender: "bob" });
  await waitFor(store, (state) => state.messages.length === 2);
  post.give(refusal());
  await failing;
  assert.deepEqual(store.state.sent.map(({ content, error }) => [content, error !== undefined]), [["ok", true]]);
  stop();
});

test("a first page that does not reach what is known already leaves no gap", async () => {
  const gateway = new ScriptedGateway(refusal(), buildMessage(2), { items: [buildMessage(8), buildMessage(9)], next: "8" });
  const store = new SpaceStore(gateway.client, "q4", { limit: 2 });
  const stop = keepAlive(store);
  await waitFor(store, (state) => state.error !== undefined);
  await store.send("m2");
  await store.refresh();
  assert.deepEqual([store.state.messages.map(({ seq }) => seq), store.state.hasOlder], [[8, 9], true]);
  stop();
});

test("an agent that ends a run still thinks in another one", async () => {
  const gateway = new ScriptedGateway(page({ name: "ann" }), page({ agent: "ann", id: "run_2" }));
  const store = new AgentsStore(gateway.client);
  const stop = keepAlive(store);
  await waitFor(store, (state) => !state.isLoading);
  gateway.send("agent.inactive", { agent: "ann", agentName: "Ann", runId: "run_1" });
  gateway.send("agent.active", { agent: "bob", agentName: "Bob", runId: "run_3" });
  const { runs } = await waitFor(store, (state) => "bob" in state.runs);
  assert.deepEqual(runs, { ann: "run_2", bob: "run_3" });
  stop();
});
