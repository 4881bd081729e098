/** The programs of the README run as printed, and what is not a program compiles (`tests/client` sees to that). */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { Gateway } from "./gateway.js";

const run = promisify(execFile);
let gateway: Gateway;

before(async () => {
  gateway = await Gateway.create();
});
after(() => gateway.remove());

async function runExample(name: string): Promise<string> {
  const env = { ...process.env, GATEPOST_URL: gateway.url, GATEPOST_KEY: gateway.key };
  const { stdout } = await run(process.execPath, [new URL(`./examples/${name}.js`, import.meta.url).pathname], { env });
  return stdout;
}

test("an agent answers", async () => {
  assert.match(await runExample("readme-1"), /^analyst: \(demo\) .*\n$/);
});

test("a loop works on an item", async () => {
  assert.equal(await runExample("readme-3"), "Page 1\n");
});

test("an error has a hint", async () => {
  assert.equal(await runExample("readme-2"), "did you mean 'analyst'?\n");
});
