/** A part of the settings, and the command that does the same at a terminal. */

import type { ComponentChildren } from "preact";

interface PartProps {
  title: string;
  command: string;
  children: ComponentChildren;
}

export function Part({ title, command, children }: PartProps) {
  return (
    <section class="stack gap-2" aria-label={title}>
      <div class="section-head">
        <h2 class="grow">{title}</h2>
        {command !== "" && (
          <span class="xs muted hide-phone">
            at a terminal: <code>{command}</code>
          </span>
        )}
      </div>
      {children}
    </section>
  );
}
