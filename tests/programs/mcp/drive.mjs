// A real MCP client that a test drives: a request a line on stdin, what comes of it a line on stdout.
//
//   node drive.mjs FOLDER PACKAGE
//
// FOLDER holds node_modules. PACKAGE is `client` (2026-07-28) or `sdk` (2025-11-25). The first line on stdin is the
// server: `{"command", "args", "env"}`, or `{"url", "headers"}`. The first line on stdout is what was agreed with it.
// A request is `{"method", "params"}` with a method of the client, such as `callTool`, or with `subscribe`.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [folder, packageName] = process.argv.slice(2);
const load = createRequire(`${folder}/package.json`);
const print = (document) => process.stdout.write(`${JSON.stringify(document)}\n`);
const printUpdate = (notification) => print({ updated: notification.params.uri });

function loadPackage() {
  const info = { name: "gatepost-test", version: "1" };
  if (packageName === "client") {
    const { Client, StreamableHTTPClientTransport } = load("@modelcontextprotocol/client");
    const { StdioClientTransport } = load("@modelcontextprotocol/client/stdio");
    const client = new Client(info, { versionNegotiation: { mode: "auto" } });
    client.setNotificationHandler("notifications/resources/updated", printUpdate);
    const subscribe = async ({ uri }) => {
      const subscription = await client.listen({ resourceSubscriptions: [uri] });
      return subscription.honoredFilter;
    };
    return { client, subscribe, StdioClientTransport, StreamableHTTPClientTransport };
  }
  const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = load("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { ResourceUpdatedNotificationSchema } = load("@modelcontextprotocol/sdk/types.js");
  const client = new Client(info);
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, printUpdate);
  const subscribe = (params) => client.subscribeResource(params);
  return { client, subscribe, StdioClientTransport, StreamableHTTPClientTransport };
}

const { client, subscribe, StdioClientTransport, StreamableHTTPClientTransport } = loadPackage();
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const { url, headers, ...command } = JSON.parse((await lines.next()).value);
const transport = url
  ? new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
  : new StdioClientTransport(command);
let version;
transport.setProtocolVersion = ((set) => (agreed) => {
  version = agreed;
  set?.call(transport, agreed);
})(transport.setProtocolVersion);
await client.connect(transport);
version = client.getNegotiatedProtocolVersion?.() ?? version;
print({ version, capabilities: client.getServerCapabilities(), instructions: client.getInstructions() });

for await (const line of lines) {
  const { method, params } = JSON.parse(line);
  try {
    print({ result: await (method === "subscribe" ? subscribe(params) : client[method](params)) });
  } catch (error) {
    print({ error: { code: error.code, message: error.message, data: error.data } });
  }
}
await client.close();
