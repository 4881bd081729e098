/**
 * Render Markdown to a fragment that cannot run anything, reach out or imitate the page: no images, forms, styles, ids or
 * classes, and links only to http, https and mailto, in a new tab. What takes too long is not rendered.
 */

import DOMPurify from "dompurify";
import { Marked } from "marked";

import { BoundedLexer } from "./bounded-lexer.js";
import { decorateCode, onHighlighter } from "./code-blocks.js";

const TAGS = [
  "a", "b", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "li", "ol", "p", "pre",
  "s", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul",
];

/** HTML in a message is shown as it was written. */
const marked = new Marked({ gfm: true, breaks: true, async: false });
marked.use({
  renderer: {
    html: ({ text }) => escapeHtml(text),
    // The page has headings of its own above those of a text.
    heading({ tokens, depth }) {
      const tag = `h${Math.min(6, depth + 2)}`;
      return `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`;
    },
    image: ({ href, text }) => `<a href="${escapeHtml(href)}">${escapeHtml(text || href)}</a>`,
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
  },
});

const purify = DOMPurify(window);
purify.addHook("afterSanitizeAttributes", (node) => {
  // The only class is the language of a block of code.
  if (node.tagName !== "CODE" || !/^language-[\w+#.-]{1,24}$/.test(node.className)) node.removeAttribute("class");
  if (node.tagName === "TABLE" || node.tagName === "PRE") node.setAttribute("tabindex", "0"); // it may be wide: keys scroll it
  if (node.tagName !== "A") return;
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer nofollow ugc");
  const href = node.getAttribute("href");
  if (href !== null) node.setAttribute("title", href.slice(0, 300));
});

/** Elements and characters of HTML that a text may become. */
const MAX_ELEMENTS = 3_000;
const MAX_HTML = 200_000;
/** Texts whose result is kept: a message comes again when somebody scrolls. */
const MAX_KEPT = 200;

const kept = new Map<string, DocumentFragment | undefined>();

/** Return a fragment of one's own; undefined if the text is too heavy, and should be shown as it is. */
export function renderMarkdown(text: string): DocumentFragment | undefined {
  const fragment = kept.has(text) ? kept.get(text) : render(text);
  kept.delete(text);
  kept.set(text, fragment);
  for (const oldest of kept.keys()) {
    if (kept.size <= MAX_KEPT) break;
    kept.delete(oldest);
  }
  return fragment?.cloneNode(true) as DocumentFragment | undefined;
}

/** Call a function when texts look better if they are rendered again. */
export function onChange(callback: () => void): void {
  onHighlighter(() => {
    kept.clear();
    callback();
  });
}

function render(text: string): DocumentFragment | undefined {
  try {
    const html = marked.parser(new BoundedLexer(marked.defaults).lex(text));
    if (html.length > MAX_HTML || html.split("</").length > MAX_ELEMENTS) return undefined;
    const fragment = purify.sanitize(html, {
      ALLOWED_TAGS: TAGS,
      ALLOWED_ATTR: ["align", "class", "href", "start"],
      ADD_URI_SAFE_ATTR: ["align", "start"], // they are no addresses
      ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
      ALLOW_DATA_ATTR: false,
      ALLOW_ARIA_ATTR: false,
      RETURN_DOM_FRAGMENT: true,
    });
    markMentions(fragment);
    decorateCode(fragment);
    return fragment;
  } catch {
    return undefined; // too much work, or too deeply nested
  }
}

const MENTION = /(?<=^|[\s(])(@[\p{L}\p{N}](?:[\p{L}\p{N}._-]{0,62}[\p{L}\p{N}])?)/u;

/** Mark names after an @, except in links and code. */
function markMentions(fragment: DocumentFragment): void {
  const walker = document.createTreeWalker(fragment, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  while (walker.nextNode()) texts.push(walker.currentNode as Text);
  for (const text of texts.filter((node) => node.data.includes("@") && !node.parentElement?.closest("a, code, pre"))) {
    const parts = text.data.split(MENTION);
    if (parts.length > 1) text.replaceWith(...parts.map((part, index) => (index % 2 === 0 ? part : Object.assign(document.createElement("span"), { className: "mention", textContent: part }))));
  }
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
