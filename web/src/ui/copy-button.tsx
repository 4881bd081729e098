/** Copy a text, and say so. */

import { attempt } from "./toasts.js";
import { Icon } from "./icons.js";

export function CopyButton({ text, label }: { text: string; label: string }) {
  return (
    <button class="icon-button" type="button" aria-label={label} title={label} onClick={() => void attempt(() => navigator.clipboard.writeText(text), "Copied")}>
      <Icon name="copy" size={14} />
    </button>
  );
}

/** The shortest way to an agent that answers. */
export const FIRST_AGENT = "gatepost agent add helper --model demo";

/** A command for a terminal, and a button that copies it. */
export function Command({ text }: { text: string }) {
  return (
    <p class="command">
      <code>{text}</code>
      <CopyButton text={text} label="Copy the command" />
    </p>
  );
}
