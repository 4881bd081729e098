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
