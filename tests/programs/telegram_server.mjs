// The Bot API of another author (`telegram-test-api` of npm), and a person who writes to a bot.
//
//   node telegram_server.mjs FOLDER TOKEN
//
// FOLDER holds node_modules. The first line on stdout is the URL of the API. Then each line on stdin is a request
// `{"method", "params"}`, and the answer to it is a line on stdout.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [folder, token] = process.argv.slice(2);
const TelegramServer = createRequire(`${folder}/package.json`)("telegram-test-api");
const print = (document) => process.stdout.write(`${JSON.stringify(document)}\n`);

const server = new TelegramServer({ host: "127.0.0.1" });
server.config.port = 0; // any free one; the constructor does not take it
await server.start();
server.config.apiURL = `http://127.0.0.1:${server.server.address().port}`;
const person = server.getClient(token, { userId: 7, chatId: 7, firstName: "Ana", userName: "ana", timeout: 20000 });

const methods = {
  say: ({ text }) => person.sendMessage(person.makeMessage(text)),
  command: ({ text }) => person.sendCommand(person.makeCommand(text)),
  press: ({ data, message }) => person.sendCallback(person.makeCallbackQuery(data, { message: { message_id: message } })),
  // what the bot has written since the last time; waits for the first
  read: async () => (await person.getUpdates()).result,
  // the text of a message of the bot, once the bot has changed it
  readEdit: async ({ message }) => {
    const find = () => server.storage.botMessages.find((update) => update.messageId === message).message;
    while (find().message_id === undefined) {
      await server.waitBotEdits();
    }
    return find();
  },
};

print({ url: server.config.apiURL });
for await (const line of createInterface({ input: process.stdin })) {
  const { method, params } = JSON.parse(line);
  print({ result: (await methods[method](params)) ?? null });
}
await server.stop();
