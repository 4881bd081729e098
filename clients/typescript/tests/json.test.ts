/** JSON with integers that a number cannot hold. */

import assert from "node:assert/strict";
import test from "node:test";

import { parseJson, writeJson } from "@gatepost/client";

/** Whether this platform tells the source of a number, as Node.js does since version 21. */
const isExact = "rawJSON" in JSON;

test("an integer keeps its digits, as far as the platform knows them", () => {
  const text = '{"account":12345678901234567890,"debt":[-9007199254740993],"small":7,"text":"12345678901234567890"}';
  const value = parseJson(text) as Record<string, unknown>;
  assert.equal(value.small, 7);
  assert.equal(value.text, "12345678901234567890");
  assert.equal(value.account, isExact ? 12345678901234567890n : 12345678901234567000);
  if (isExact) assert.equal(writeJson(value), text);
});

test("all else is as with the JSON of the platform", () => {
  for (const text of ["1e400", "1.5", "0.12345678901234567", "9007199254740991", "[]", '"1234567890123456789"', "null"]) {
    assert.deepEqual(parseJson(text), JSON.parse(text));
    assert.equal(writeJson(parseJson(text)), JSON.stringify(JSON.parse(text)));
  }
  assert.equal(writeJson({ a: [1] }, 2), JSON.stringify({ a: [1] }, null, 2));
  assert.throws(() => parseJson("{1234567890123456789"), SyntaxError);
});
