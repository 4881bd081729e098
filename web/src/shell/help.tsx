/** The keys that work now. */

import { commands, isHelpOpen, type Command } from "../commands.js";
import { Dialog } from "../ui/dialog.js";
import { Keys } from "../ui/parts.js";

export function Help() {
  const groups = new Map<string, Pick<Command, "id" | "title" | "keys">[]>([["Everywhere", [{ id: "all", title: "Every command", keys: "Ctrl K" }]]]);
  for (const command of commands.value.filter(({ keys }) => keys !== undefined)) {
    const name = command.group === "Page" ? "Everywhere" : command.group;
    groups.set(name, [...(groups.get(name) ?? []), command]);
  }
  return (
    <Dialog title="Keyboard shortcuts" isWide onClose={() => (isHelpOpen.value = false)}>
      <div class="help">
        {[...groups].map(([group, list]) => (
          <section key={group}>
            <h2>{group}</h2>
            <dl class="help-list">
              {list.map((command) => [
                <dt key={`${command.id}-keys`}>
                  <Keys keys={command.keys ?? ""} />
                </dt>,
                <dd key={command.id}>{command.title}</dd>,
              ])}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
