/** Something secret that is shown once, and copied. */

import { CopyButton } from "./copy-button.js";
import { Dialog } from "./dialog.js";

interface SecretProps {
  title: string;
  /** What is copied, by its name. */
  texts: Readonly<Record<string, string>>;
  /** What can be run as it is. */
  command?: string;
  note: string;
  onClose: () => void;
}

export function SecretDialog({ title, texts, command, note, onClose }: SecretProps) {
  return (
    <Dialog title={title} isLasting onClose={onClose}>
      <div class="dialog-body stack gap-3">
        {Object.entries(texts).map(([name, text]) => (
          <div key={name} class="label">
            {name}
            <span class="secret-row line gap-2">
              <code class="grow text">{text}</code>
              <CopyButton text={text} label={`Copy the ${name.toLowerCase()}`} />
            </span>
          </div>
        ))}
        {command !== undefined && (
          <div class="label">
            Try it in a terminal
            <span class="secret-row line gap-2">
              <code class="grow text">{command}</code>
              <CopyButton text={command} label="Copy the command" />
            </span>
          </div>
        )}
        <p class="notice">{note}</p>
        <div class="line end gap-2">
          <button class="button primary" onClick={onClose} autoFocus>
            Done
          </button>
        </div>
      </div>
    </Dialog>
  );
}
