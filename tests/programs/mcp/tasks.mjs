// The package of npm for tasks, as a test drives it: JSON on stdin, JSON lines on stdout.
//
//   node tasks.mjs FOLDER check    a line {"schema", "message"}: is the message one of this schema?
//   node tasks.mjs FOLDER call     {"url", "headers", "name", "arguments"}: call a tool, and wait for its result
//
// FOLDER holds node_modules.

import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [folder, mode] = process.argv.slice(2);
const scope = `${folder}/node_modules/@modelcontextprotocol`;
const load = (path) => import(pathToFileURL(`${scope}/${path}`).href);
const print = (document) => process.stdout.write(`${JSON.stringify(document)}\n`);
const lines = (await readFile("/dev/stdin", "utf8")).trim().split("\n").map((line) => JSON.parse(line));

async function check() {
  const schemas = await load("ext-tasks/dist/core/v2/index.js");
  for (const { schema, message } of lines) {
    const { success, error } = schemas[schema].safeParse(message);
    print({ schema, success, error: error?.issues });
  }
}

async function call() {
  const { Client, StreamableHTTPClientTransport } = await load("client/dist/index.mjs");
  const { createTaskSessionFromClient } = await load("ext-tasks/dist/client/index.js");
  const [{ url, headers, name, arguments: toolArguments }] = lines;
  const clientInfo = { name: "gatepost-test", version: "1" };
  const client = new Client(clientInfo, { versionNegotiation: { mode: "auto" } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  const protocolVersion = client.getNegotiatedProtocolVersion();
  let id = 0;
  async function rawDispatch(request) {
    const named = request.params.name ?? request.params.taskId;
    const response = await fetch(url, {
      method: "POST",
      body: JSON.stringify({ jsonrpc: "2.0", id: ++id, ...request }),
      headers: {
        ...headers,
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": protocolVersion,
        "mcp-method": request.method,
        ...(named === undefined ? {} : { "mcp-name": named }),
      },
    });
    const text = await response.text();
    const answer = JSON.parse(text.split("\n").findLast((line) => line.startsWith("data: {"))?.slice(6) ?? text);
    return answer.error ? { kind: "error", error: answer.error } : { kind: "result", result: answer.result };
  }
  const session = createTaskSessionFromClient(client, {
    endpointId: url,
    rawDispatch,
    v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities: {} },
  });
  const execution = await session.callTool(name, toolArguments);
  print({ kind: execution.kind });
  print(await execution.settle());
  await session.close();
  await client.close();
}

await { check, call }[mode]();
