import assert from "node:assert/strict";
import { test } from "node:test";

import { EventParser, type ServerSentEvent } from "@gatepost/client";

function parse(...pieces: string[]): ServerSentEvent[] {
  const parser = new EventParser();
  return pieces.flatMap((piece) => [...parser.parse(piece)]);
}

const TEXT = ": ping\n\nid: 41\nevent: space.message\ndata: {\ndata:  \"a\"}\n\nevent: ended\ndata: über 😀\n\ndata";
const EVENTS = [
  { event: "space.message", data: '{\n "a"}', id: "41" },
  { event: "ended", data: "über 😀", id: "41" },
];

for (const [name, end] of [["LF", "\n"], ["CRLF", "\r\n"], ["CR", "\r"]] as const) {
  test(`lines end with ${name}, wherever a piece ends`, () => {
    const text = TEXT.replaceAll("\n", end);
    assert.deepEqual(parse(text), EVENTS);
    for (let first = 0; first <= text.length; first += 1) {
      assert.deepEqual(parse(text.slice(0, first), text.slice(first)), EVENTS, `cut at ${first}`);
    }
    assert.deepEqual(parse(...text), EVENTS, "each character alone");
    assert.deepEqual(parse(...[...text].flatMap((piece) => [piece, ""])), EVENTS, "with empty pieces between");
  });
}

test("fields are read as the specification says", () => {
  assert.deepEqual(parse("data\n\n"), [{ event: "message", data: "", id: "" }], "a field without a colon");
  assert.deepEqual(parse("data:  two spaces\n\n"), [{ event: "message", data: " two spaces", id: "" }]);
  assert.deepEqual(parse("event: nothing\n\ndata: 1\n\n"), [{ event: "message", data: "1", id: "" }]);
  assert.deepEqual(parse("id: 7\n\ndata: 1\n\n"), [{ event: "message", data: "1", id: "7" }], "an id without an event");
  assert.deepEqual(parse("id: 7\ndata: 1\n\nid: 8\0\ndata: 2\n\n")[1]?.id, "7", "an id with NUL is ignored");
  assert.deepEqual(parse("id: 7\ndata: 1\n\nid\ndata: 2\n\n")[1]?.id, "", "an empty id resets it");
  assert.deepEqual(parse("DATA: 1\nretry: 2\ndata: 3\n\n"), [{ event: "message", data: "3", id: "" }]);
  assert.deepEqual(parse("data: 1\n"), [], "an event that did not end");
});

test("a long event costs no more than its length", () => {
  const piece = "x".repeat(1024);
  const events = parse("data: ", ...Array.from({ length: 20_000 }, () => piece), "\n\n");
  assert.equal(events[0]?.data.length, 20_000 * 1024);
});
