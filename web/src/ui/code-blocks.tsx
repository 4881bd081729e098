/** Blocks of code in rendered Markdown: a button that copies one, and highlighting, which comes when there is one. */

import { render } from "preact";

import { Icon } from "./icons.js";
import { attempt } from "./toasts.js";

let highlight: ((code: HTMLElement) => void) | undefined;
let isRequested = false;
let notify = () => {};

/** Call a function when blocks can be highlighted that were rendered before. */
export function onHighlighter(callback: () => void): void {
  notify = callback;
}

/** Add what belongs to the blocks of code of a fragment. */
export function decorateCode(fragment: DocumentFragment): void {
  for (const pre of fragment.querySelectorAll("pre")) {
    const code = pre.querySelector("code");
    if (code === null) continue;
    if (/language-/.test(code.className)) {
      if (highlight === undefined) requestHighlighter();
      else highlight(code);
    }
    const block = Object.assign(document.createElement("div"), { className: "code-block" });
    pre.replaceWith(block);
    const button = Object.assign(document.createElement("button"), { className: "icon-button copy-code", type: "button", title: "Copy the code" });
    button.setAttribute("aria-label", "Copy the code");
    render(<Icon name="copy" size={14} />, button);
    block.append(pre, button);
  }
}

function requestHighlighter(): void {
  if (isRequested) return;
  isRequested = true;
  import("./highlight.js").then(
    (module) => {
      highlight = module.highlight;
      notify();
    },
    () => (isRequested = false),
  );
}

// A rendered text is copied each time it is shown, and copies have no listeners.
document.addEventListener("click", ({ target }) => {
  const button = target instanceof Element ? target.closest(".copy-code") : null;
  const code = button?.parentElement?.querySelector("pre")?.textContent;
  if (code !== undefined && code !== null) void attempt(() => navigator.clipboard.writeText(code.replace(/\n$/, "")), "Copied");
});
