/**
 * The browser that the tests drive. A line of the input is a call, a line of the output is its result:
 *
 *     {"target": 2, "method": "keyboard.press", "args": ["Control+k"]}   ->   {"result": null} or {"error": "..."}
 *
 * The argument is the path of Chromium. Target 0 is what this file adds to Playwright. A page that is opened has a number,
 * and its context the number before.
 */

import axe from "axe-core";
import { chromium as playwright } from "playwright-core";
import { createInterface } from "node:readline";

/** Milliseconds after which what was waited for is missing. */
const TIMEOUT = 30_000;
const POLL_INTERVAL = 20;

const targets = [];
const logs = new Map();

const own = {
  async open(options) {
    const context = await browser.newContext({ strictSelectors: true, ...options });
    context.setDefaultTimeout(TIMEOUT);
    targets.push(context, await context.newPage());
    const number = targets.length - 1;
    record(number);
    return number;
  },

  /** Open another tab beside a page, in its browser context. */
  async openTab(number) {
    const context = targets[number - 1];
    targets.push(context, await context.newPage());
    record(targets.length - 1);
    return targets.length - 1;
  },

  /** Wait until exactly so many elements match: 0 if they are to go, 1 if nothing may come twice. */
  async waitForCount(number, selector, count) {
    const locator = targets[number].locator(selector);
    const deadline = Date.now() + TIMEOUT;
    let found = await locator.count();
    while (found !== count && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL));
      found = await locator.count();
    }
    if (found !== count) throw new Error(`${found} and not ${count} elements match ${selector}`);
  },

  /** Return what axe finds, of these rules or of all: the rule, how serious it is, and the first elements. */
  async findViolations(number, rules) {
    const page = targets[number];
    if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source);
    await page.evaluate(finishTransitions);
    const options = { resultTypes: ["violations"], ...(rules ? { runOnly: rules } : {}) };
    const { violations } = await page.evaluate((options) => window.axe.run(document, options), options);
    const describe = ({ html, failureSummary }) => `${html.slice(0, 120)} ${failureSummary?.slice(0, 240)}`;
    return violations.map(({ id, impact, nodes }) => [impact, id, ...nodes.slice(0, 3).map(describe)]);
  },

  /** Return what happened in a page since this was last asked. */
  takeLog(number) {
    const log = logs.get(number);
    logs.set(number, createLog());
    return log;
  },

  /** Return the seconds that the main thread of a page was busy since it was opened. */
  async readBusyTime(number) {
    const page = targets[number];
    page.devtools ??= await page.context().newCDPSession(page).then(async (session) => {
      await session.send("Performance.enable");
      return session;
    });
    const { metrics } = await page.devtools.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "TaskDuration").value;
  },
};

/** Wait until the colours are those of the present theme: a transition may begin the next one. */
async function finishTransitions() {
  for (let quietFrames = 0; quietFrames < 3; quietFrames += 1) {
    await new Promise((resolve) => requestAnimationFrame(resolve));
    if (document.getAnimations().some((animation) => animation instanceof CSSTransition)) quietFrames = 0;
  }
}

function createLog() {
  return { errors: [], dialogs: [], requests: [] };
}

function record(number) {
  const page = targets[number];
  logs.set(number, createLog());
  page.on("console", (message) => message.type() === "error" && logs.get(number).errors.push(message.text()));
  page.on("pageerror", (error) => logs.get(number).errors.push(String(error.stack ?? error)));
  page.on("request", (request) => logs.get(number).requests.push(`${request.method()} ${request.url()}`));
  page.on("dialog", (dialog) => {
    logs.get(number).dialogs.push(dialog.message());
    void dialog.dismiss().catch(() => undefined);
  });
}

/** Return a function that Playwright runs in the page, and not here. */
function toFunction(text) {
  return (0, eval)(`(${text})`);
}

async function call({ target, method, args }) {
  if (target === 0) return own[method](...args);
  const names = method.split(".");
  const name = names.pop();
  const object = names.reduce((value, key) => value[key], targets[target]);
  const isScript = name === "evaluate" || name === "waitForFunction";
  const result = await object[name](...(isScript ? [toFunction(args[0]), ...args.slice(1)] : args));
  const isPlain = ["string", "number", "boolean"].includes(typeof result);
  return isPlain || name === "evaluate" ? result : null;
}

const browser = await playwright.launch({
  executablePath: process.argv[2],
  args: ["--no-sandbox", "--disable-gpu"],
  headless: true,
});
targets.push(own);
process.stdout.write(`${JSON.stringify({ result: browser.version() })}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  const answer = await call(JSON.parse(line)).then(
    (result) => ({ result: result ?? null }),
    (error) => ({ error: String(error.message ?? error) }),
  );
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
