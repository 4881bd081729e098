/** Spaces: none of very many is forgotten, no message is skipped, and what is sent arrives in its order. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { GatepostClient, GatepostError, openFeed, SpaceStore } from "@gatepost/client";

import { Gateway, seed } from "./gateway.js";
import { Proxy } from "./proxy.js";
import { waitFor } from "./waiting.js";

/** Spaces that the combined stream of a gateway has at most. */
const MAX_SPACES = 200;

let gateway: Gateway;
let proxy: Proxy;
/** A client whose requests go through the proxy. */
let client: GatepostClient;

before(async () => {
  gateway = await Gateway.create();
  await seed(gateway.open());
  proxy = await Proxy.create(() => gateway.url);
  client = gateway.open({ url: proxy.url });
});
after(async () => {
  proxy.close();
  await gateway.remove();
});

function openStore(clientOfStore: GatepostClient, id: string) {
  const store = new SpaceStore(clientOfStore, id, { feed: openFeed(clientOfStore), member: "husam" });
  return { store, stop: store.subscribe(() => {}) };
}

const listContents = (store: SpaceStore) => store.state.messages.map(({ content }) => content);

test("messages are sent in order, also if the first is tried again", async () => {
  await gateway.open().createSpace({ id: "ordered", name: "Ordered", members: ["husam"] });
  const { store, stop } = openStore(client, "ordered");
  await waitFor(store, (state) => !state.isLoading);
  proxy.outcomes.push("lost", 503, "unanswered", "lost", "lost");
  const contents = Array.from({ length: 5 }, (_, index) => `number ${index}`);
  await Promise.all(contents.map((content) => store.send(content)));
  const { items } = await gateway.open().readMessages({ id: "ordered" });
  assert.deepEqual(items.map(({ content }) => content), contents);
  await waitFor(store, (state) => state.messages.length === contents.length && state.sent.length === 0);
  stop();
});

test("a message that cannot be sent is not overtaken, and may be sent again", async () => {
  await gateway.open().createSpace({ id: "waiting", name: "Waiting", members: ["husam"] });
  let isReachable = true;
  const impatient = gateway.open({
    retryTime: 0,
    fetch: (input, init) => (isReachable || init?.method !== "POST" ? fetch(input, init) : Promise.reject(new TypeError("unplugged"))),
  });
  const { store, stop } = openStore(impatient, "waiting");
  await waitFor(store, (state) => !state.isLoading);
  isReachable = false;
  const first = store.send("first");
  const second = store.send("second");
  await assert.rejects(first, GatepostError);
  isReachable = true;
  await assert.rejects(second, GatepostError);
  assert.deepEqual(store.state.sent.map(({ content, error }) => [content, error !== undefined]), [["first", true], ["second", true]]);
  await Promise.all(store.state.sent.map(({ key }) => store.resend(key)));
  await store.send("third");
  assert.deepEqual(listContents(store), ["first", "second", "third"]);
  stop();
});

test("what was missed before a message of one's own is loaded", async () => {
  await gateway.open().createSpace({ id: "gaps", name: "Gaps", members: ["husam", "analyst"] });
  const say = (content: string) => gateway.open().postMessage({ id: "gaps", content, sender: "analyst" });
  await say("one");
  // A stream that has opened, and says nothing more.
  const silence = () => new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode('event: connected\ndata: {}\n\n')) });
  const deaf = gateway.open({
    fetch: async (input, init) =>
      String(input).endsWith("/stream") ? new Response(silence(), { headers: { "content-type": "text/event-stream" } }) : fetch(input, init),
  });
  const { store, stop } = openStore(deaf, "gaps");
  await waitFor(store, (state) => state.messages.length === 1 && !state.isLoading);
  await say("two");
  await say("three");
  await store.send("mine");
  await waitFor(store, (state) => state.messages.length === 4);
  assert.deepEqual(listContents(store), ["one", "two", "three", "mine"]);
  stop();
});

test("a space that the feed leaves out has a stream of its own", async () => {
  const admin = gateway.open();
  await admin.createSpace({ id: "oldest", name: "Oldest", members: ["husam", "analyst"] });
  const { store, stop } = openStore(admin, "oldest");
  await waitFor(store, (state) => state.isLive && !state.isLoading);
  await Promise.all(Array.from({ length: MAX_SPACES }, (_, number) => admin.createSpace({ name: `Space ${number}` })));
  await admin.postMessage({ id: "oldest", content: "one", sender: "analyst" });
  await waitFor(store, (state) => state.messages.length === 1);
  const { store: later, stop: stopLater } = openStore(admin, "oldest");
  await waitFor(later, (state) => state.isLive && !state.isLoading);
  await admin.postMessage({ id: "oldest", content: "two", sender: "analyst" });
  await store.send("three");
  await waitFor(later, (state) => state.messages.length === 3);
  await waitFor(store, (state) => state.messages.length === 3);
  assert.deepEqual(listContents(store), ["one", "two", "three"]);
  stop();
  stopLater();
});
