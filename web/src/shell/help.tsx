/** The keys that work now. */

import { commands, isHelpOpen, type Command } from "../commands.js";
import { Dialog } from "../ui/dialog.js";
import { Keys } from "../ui/parts.js";

export function Help() {
  const groups = new Map<string, Command[]>();
  for (const command of commands.value.filter(({ keys }) => keys !== undefined)) {
    groups.set(command.group, [...(groups.get(command.group) ?? []), command]);
  }
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => (isHelpOpen.value = false)}>
      <div class="help">
        <section>
          <h2>Everywhere</h2>
          <dl class="help-list">
            <dt>
              <Keys keys="Ctrl K" />
            </dt>
            <dd>Every command</dd>
          </dl>
        </section>
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
