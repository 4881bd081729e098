/**
 * Texts of messages as Markdown, sanitised. The two libraries come late; until then, and for texts that are long or heavy,
 * the text is shown as it is. A text over the limits is shown in part, and the rest on request.
 */

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { cleanText, formatSize } from "./text.js";
import { takeTurn } from "./turns.js";

type Render = (text: string) => DocumentFragment | undefined;

/** Characters that are rendered as Markdown, and those that are shown before somebody asks for more. */
const MAX_MARKDOWN = 12_000;
const MAX_SHOWN = 3_000;

const render = signal<Render | undefined>(undefined);
let isRequested = false;

export function Markdown({ text, class: name = "" }: { text: string; class?: string }) {
  const [isWhole, setWhole] = useState(false);
  const element = useRef<HTMLDivElement>(null);
  const isLong = text.length > MAX_SHOWN;
  const isPlain = text.length > MAX_MARKDOWN;
  const shown = isLong && !isWhole ? text.slice(0, MAX_SHOWN) + "…" : text;
  const renderNow = isPlain ? undefined : render.value;
  if (!isPlain) requestRenderer();

  useLayoutEffect(() => {
    const node = element.current;
    if (node === null) return;
    const clean = cleanText(shown);
    const show = (content: DocumentFragment | undefined) => {
      const kind = content !== undefined ? "markdown" : isWhole ? "text plain scroll-box" : "text plain";
      node.className = `${kind} ${name}`;
      node.replaceChildren(content ?? clean);
    };
    if (renderNow === undefined) return show(undefined);
    const cancel = takeTurn(node, () => show(renderNow(clean)));
    if (!node.hasChildNodes()) show(undefined);
    return cancel;
  }, [shown, renderNow, isWhole, name]);

  return (
    <>
      <div ref={element} dir="auto" />
      {isLong && (
        <button class="button small show-all" onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Show less" : `Show all of ${formatSize(text.length)} characters`}
        </button>
      )}
    </>
  );
}

/** A text as it is, such as a prompt or a result. */
export function PlainText({ text, limit = MAX_SHOWN }: { text: string; limit?: number }) {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > limit;
  return (
    <>
      <pre class={`text-block ${isWhole ? "scroll-box" : ""}`} dir="auto" tabIndex={0}>
        {cleanText(isLong && !isWhole ? text.slice(0, limit) + "…" : text)}
      </pre>
      {isLong && (
        <button class="button small show-all" onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Show less" : `Show all of ${formatSize(text.length)} characters`}
        </button>
      )}
    </>
  );
}

function requestRenderer(): void {
  if (isRequested) return;
  isRequested = true;
  import("./sanitise.js").then(
    ({ renderMarkdown, onChange }) => {
      render.value = renderMarkdown;
      onChange(() => (render.value = (text) => renderMarkdown(text))); // another function, so all texts are rendered again
    },
    () => (isRequested = false),
  );
}
