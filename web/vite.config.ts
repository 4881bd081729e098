import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const fromHere = (path: string) => fileURLToPath(new URL(path, import.meta.url));
/** Of packages whose code may be in the page. With a choice, the page is under the one that needs least. */
const knownLicenses = ["MIT", "ISC", "BSD-3-Clause", "Apache-2.0", "(MPL-2.0 OR Apache-2.0)"];
const gateway = process.env["GATEPOST_URL"] ?? "http://127.0.0.1:4283";

/** `npm run dev` serves the page beside a gateway; GATEPOST_URL and GATEPOST_KEY say which one, and as whom. */
export default defineConfig({
  base: "/",
  resolve: { alias: { "@gatepost/client": fromHere("../clients/typescript/src/index.ts") }, dedupe: ["preact"] },
  build: {
    outDir: fromHere("../src/gatepost/page"),
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  plugins: [writeLicenses(), compressFiles()],
  server: {
    fs: { allow: [fromHere("..")] },
    proxy: {
      "/api": { target: gateway, headers: readKey() },
      // A browser that goes there gets the page, which asks there in turn.
      "/health": { target: gateway, bypass: ({ headers }) => (headers.accept?.includes("text/html") ? "/index.html" : undefined) },
    },
  },
});

/** Write licenses.txt: the packages whose code is in the page, and their licences, which have to come with it. */
function writeLicenses(): Plugin {
  return {
    name: "write-licenses",
    apply: "build",
    async generateBundle(_options, bundle) {
      const folders = new Set<string>();
      for (const chunk of Object.values(bundle)) {
        for (const id of chunk.type === "chunk" ? chunk.moduleIds : []) {
          const folder = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0];
          if (folder !== undefined) folders.add(folder);
        }
      }
      const notices = await Promise.all([...folders].map(readNotice));
      this.emitFile({ type: "asset", fileName: "licenses.txt", source: notices.sort().join(`\n${"-".repeat(80)}\n\n`) });
    },
  };
}

/** Return name, version and licence of a package; fail if it has none, or one that nobody has read yet. */
async function readNotice(folder: string): Promise<string> {
  const { name, version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  if (!knownLicenses.includes(license)) throw new Error(`${name} has the licence ${license}, which is not a known one`);
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e(\.(md|txt))?$/i.test(entry));
  if (file === undefined) throw new Error(`${name} comes without the text of its licence`);
  return `${name} ${version}, ${license}\n\n${(await readFile(join(folder, file), "utf8")).trim()}\n`;
}

/** Write each file compressed as well, so that the gateway need not do it. */
function compressFiles(): Plugin {
  let output: string;
  return {
    name: "compress-files",
    apply: "build",
    configResolved(config) {
      output = resolve(config.root, config.build.outDir);
    },
    async closeBundle() {
      for (const entry of await readdir(output, { recursive: true })) {
        if (!/\.(js|css|html|svg|txt)$/.test(entry)) continue;
        const path = join(output, entry);
        const content = await readFile(path);
        await writeFile(`${path}.gz`, gzipSync(content, { level: 9 }));
        await writeFile(`${path}.br`, brotliCompressSync(content));
      }
    },
  };
}

function readKey(): Record<string, string> {
  const key = process.env["GATEPOST_KEY"];
  return key === undefined ? {} : { "x-secret-key": key };
}
