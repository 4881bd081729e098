/** The place to write, in spaces and in chats. What is not sent yet stays, also after a reload. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import { useDraft } from "../data/drafts.js";
import { useCompletion, type NameOption } from "../ui/completion.js";
import { Icon } from "../ui/icons.js";

interface ComposerProps {
  /** The key of the draft. */
  id: string;
  placeholder: string;
  /** The names that an @ completes, the likeliest first. */
  names: readonly NameOption[];
  onSend: (text: string) => void;
  /** Told of every change. */
  onText?: (text: string) => void;
  /** A line below the field. */
  children?: ComponentChildren;
}

const MAX_HEIGHT = 220;
/** The draft whose field gets the focus when it appears. */
let wantedId: string | undefined;

export function Composer({ id, placeholder, names, onSend, onText, children }: ComposerProps) {
  const [text, setText] = useDraft(id);
  const field = useRef<HTMLTextAreaElement>(null);
  const change = (value: string) => {
    setText(value);
    onText?.(value);
  };
  const send = () => {
    if (text.trim() === "") return;
    onSend(text);
    change("");
  };
  useLayoutEffect(() => {
    if (wantedId === id) field.current?.focus();
    wantedId = undefined;
  }, []);
  const completion = useCompletion({ id: "composer", text, field, options: names, onChange: change });
  useLayoutEffect(() => {
    const node = field.current;
    if (node === null) return;
    node.style.setProperty("height", "auto");
    node.style.setProperty("height", `${Math.min(MAX_HEIGHT, node.scrollHeight + 2)}px`);
  }, [text]);
  return (
    <form class="composer" onSubmit={(event) => (event.preventDefault(), send())}>
      <div class="composer-field">
        {completion.list}
        <textarea
          ref={field}
          class="field"
          rows={1}
          dir="auto"
          value={text}
          placeholder={placeholder}
          aria-label="Message"
          autocomplete="off"
          {...completion.attributes}
          onInput={(event) => {
            change(event.currentTarget.value);
            completion.follow();
          }}
          onKeyUp={completion.follow}
          onClick={completion.follow}
          onFocus={() => completion.setFocus(true)}
          onBlur={() => completion.setFocus(false)}
          onKeyDown={(event) => {
            if (completion.handleKey(event)) return;
            if (event.key === "Escape") event.currentTarget.blur();
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            send();
          }}
        />
      </div>
      <button class="button primary send-button" aria-label="Send" title="Send (Enter)" disabled={text.trim() === ""}>
        <Icon name="send" />
      </button>
      {children !== undefined && <div class="composer-foot muted xs line gap-2">{children}</div>}
    </form>
  );
}

/** Give the focus to the field of a draft that is about to appear, because somebody has come there to write. */
export function focusNextComposer(id: string): void {
  wantedId = id;
}

/** Write: put the focus into the field. */
export function focusComposer(): void {
  document.querySelector<HTMLTextAreaElement>(".composer textarea")?.focus();
}
