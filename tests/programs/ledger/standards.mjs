// The SDK of the HCS standards, which a test calls: a request a line on stdin, what comes of it a line on stdout.
//
//   node standards.mjs FOLDER
//
// FOLDER holds node_modules. A request is `{"method", "params"}`, with one of `methods`. Nothing is sent anywhere: the
// mirror node and the server of files answer what the request has.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [folder] = process.argv.slice(2);
const sdk = createRequire(`${folder}/package.json`)("@hashgraphonline/standards-sdk");

const options = { network: "testnet", silent: true };
const profileClient = new sdk.HCS11Client({ ...options, auth: { operatorId: "0.0.2" } });
profileClient.client.close();
const agentClient = new sdk.HCS10BaseClient(options);
const schemas = [sdk.PersonalProfileSchema, sdk.AIAgentProfileSchema];

const methods = {
  // `validateProfile` does not say what is wrong, because it tries all types of profiles; the schema of one type does.
  validateProfile({ profile }) {
    const issues = schemas[profile.type].safeParse(profile).error?.issues ?? [];
    const { valid } = profileClient.validateProfile(profile);
    return { valid, errors: issues.map(({ path, message }) => `${path.join(".")}: ${message}`) };
  },
  fetchProfile({ memo, profile }) {
    profileClient.mirrorNode.getAccountMemo = async () => memo;
    globalThis.fetch = async () => Response.json(profile);
    return profileClient.fetchProfileByAccountId("0.0.4");
  },
  buildAccountMemo: ({ file }) => profileClient.setProfileForAccountMemo(file),

  canonicalize: ({ identity }) => sdk.canonicalizeAgentData(identity).canonicalJson,
  createUaid: ({ identity, parameters }) => sdk.createUaid(identity, parameters),
  parseUaid: ({ uaid }) => sdk.parseHcs14Did(uaid),

  buildTopicMemo: ({ kind, fields }) => sdk[`buildHcs10Create${kind}TopicTx`](fields).topicMemo,
  readTopicMemo({ memo }) {
    agentClient.mirrorNode.getTopicInfo = async () => ({ memo });
    return agentClient.getTopicMemoType("0.0.5");
  },
  buildOperation({ name, fields }) {
    const transaction = sdk[`buildHcs10${name}Tx`](fields);
    return { message: Buffer.from(transaction.message).toString(), memo: transaction.transactionMemo };
  },
  async readConnectionTopic({ messages }) {
    agentClient.mirrorNode.getTopicMessages = async () => messages;
    return (await agentClient.getMessageStream("0.0.7")).messages;
  },
  // What the owner of two topics knows of its connections.
  readConnections({ account, inbound, outbound }) {
    const manager = new sdk.ConnectionsManager({ baseClient: agentClient, silent: true });
    manager.processOutboundMessages(outbound, account);
    manager.processInboundMessages(inbound);
    return manager.getAllConnections();
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { method, params } = JSON.parse(line);
  let answer;
  try {
    answer = { result: await methods[method](params) };
  } catch (error) {
    answer = { error: error.message };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
