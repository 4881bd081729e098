/** Write the code of the README into files, which are compiled with the tests. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const root = new URL("..", import.meta.url);
const folder = new URL("tests/examples/", root);
const blocks = readFileSync(new URL("README.md", root), "utf8").matchAll(/```(tsx?)\n(.*?)```/gs);

mkdirSync(folder, { recursive: true });
let number = 0;
for (const [, ending, code] of blocks) {
  number += 1;
  // Names of one block are not those of another; a component that is only shown counts as used.
  writeFileSync(new URL(`readme-${number}.${ending}`, folder), code.replace(/^function /m, "export function "));
}
