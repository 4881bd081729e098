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

/** Milliseconds after which what was waited for is missing; only what never comes takes so long. */
const TIMEOUT = 300_000;
const POLL_INTERVAL = 20;
/** Seconds between two keys, by their own times: what a busy machine adds is not what the person did. */
const KEY_INTERVAL = 0.001;
const MODIFIERS = { Alt: 1, Control: 2, Meta: 4, Shift: 8 };
/** The numbers of keys that write nothing, or a character of another name. */
const NAMED_KEYS = { Backspace: 8, Tab: 9, Enter: 13, Escape: 27, ArrowUp: 38, ArrowDown: 40 };

const targets = [];
const logs = new Map();
/** The functions that let the requests of a page pass, by its number and a part of their addresses. */
const delays = new Map();

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

  /** Press keys, one after the other, without waiting for what the page does about the one before. */
  async press(number, keys) {
    const devtools = await openDevtools(targets[number]);
    const start = Date.now() / 1000;
    const describe = (key, index) => describeKey(key, start + index * KEY_INTERVAL);
    const events = keys.map(describe).flatMap((key) => [key, { ...key, type: "keyUp", text: undefined }]);
    await Promise.all(events.map((event) => devtools.send("Input.dispatchKeyEvent", event)));
  },

  /** Keep the requests whose address has these letters, until they are released. */
  async delay(number, part) {
    const passed = new Promise((resolve) => delays.set(`${number} ${part}`, resolve));
    await targets[number].route(
      (url) => url.href.includes(part),
      async (route) => {
        await passed;
        await route.continue().catch(() => undefined); // the page may be gone
      },
    );
  },

  release(number, part) {
    delays.get(`${number} ${part}`)();
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

  /** Return the seconds that the main thread of a page was busy since it was opened; the benchmark of the page asks. */
  async readBusyTime(number) {
    const devtools = await openDevtools(targets[number]);
    await devtools.send("Performance.enable");
    const { metrics } = await devtools.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "TaskDuration").value;
  },
};

/** Return the session with the developer tools of a page. */
function openDevtools(page) {
  page.devtools ??= page.context().newCDPSession(page);
  return page.devtools;
}

/** Return a key such as "j", "Enter" or "Control+k" as the developer tools take it. */
function describeKey(name, timestamp) {
  const parts = name === "+" ? [name] : name.split("+");
  const key = parts.pop();
  const modifiers = parts.reduce((sum, part) => sum + MODIFIERS[part], 0);
  const isNamed = key in NAMED_KEYS;
  if (!isNamed && [...key].length > 1) throw new Error(`there is no key ${key}`);
  const text = key === "Enter" ? "\r" : isNamed || modifiers > 0 ? undefined : key;
  const code = isNamed ? key : /^[a-z]$/i.test(key) ? `Key${key.toUpperCase()}` : /^\d$/.test(key) ? `Digit${key}` : "";
  const windowsVirtualKeyCode = isNamed ? NAMED_KEYS[key] : code === "" ? 0 : key.toUpperCase().charCodeAt(0);
  return { type: text === undefined ? "rawKeyDown" : "keyDown", key, code, text, modifiers, windowsVirtualKeyCode, timestamp };
}

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
  page.on("console", (message) => {
    if (message.type() === "error") logs.get(number).errors.push(`${message.text()} at ${message.location().url}`);
  });
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
