/** Settings: who may use this gateway, what its agents think with, what it is connected to, and how it was started. */

import "../cost/cost.css";
import "./settings.css";

import { useState } from "preact/hooks";

import { useCommands } from "../commands.js";
import { BudgetList } from "../cost/budgets.js";
import { buildPath, navigate, segments } from "../router.js";
import { Icon } from "../ui/icons.js";
import { Integrations } from "./integrations.js";
import { Keys } from "./keys.js";
import { Models } from "./models.js";
import { Notifications } from "./notifications.js";
import { Part } from "./part.js";
import { People, PersonDialog } from "./people.js";
import { AllSettings } from "./values.js";

const TABS = [
  ["people", "People and keys"],
  ["models", "Models and budgets"],
  ["integrations", "Integrations"],
  ["notifications", "Notifications"],
  ["values", "All settings"],
] as const;

export default function Settings() {
  const [isAdding, setAdding] = useState(false);
  const tab = TABS.find(([id]) => id === segments.value[1])?.[0] ?? "people";
  useCommands([
    { id: "new-person", title: "Add a person", group: "Settings", keys: "c", run: () => setAdding(true) },
    ...TABS.map(([id, label], index) => ({ id: `tab-${id}`, title: `Show ${label.toLowerCase()}`, group: "Settings", keys: String(index + 1), run: () => navigate(tabPath(id)) })),
  ]);
  return (
    <>
      <header class="view-head">
        <h1>Settings</h1>
        <span class="grow" />
        <button class="button primary" title="Add a person (c)" onClick={() => setAdding(true)}>
          <Icon name="plus" size={14} /> Add a person
        </button>
      </header>
      <nav class="tabs view-bar" aria-label="Settings">
        {TABS.map(([id, label]) => (
          <a key={id} class="tab" href={tabPath(id)} aria-current={id === tab ? "page" : undefined}>
            {label}
          </a>
        ))}
      </nav>
      <div class="view-body stack top gap-5">
        {tab === "people" && <People />}
        {tab === "people" && <Keys />}
        {tab === "models" && (
          <>
            <Part title="Models" command="gatepost doctor">
              <Models />
            </Part>
            <Part title="Budgets" command="gatepost agent budgets">
              <BudgetList agent={undefined} />
            </Part>
          </>
        )}
        {tab === "integrations" && <Integrations />}
        {tab === "notifications" && <Notifications />}
        {tab === "values" && <AllSettings />}
      </div>
      {isAdding && <PersonDialog onClose={() => setAdding(false)} />}
    </>
  );
}

function tabPath(tab: string): string {
  return tab === "people" ? "/settings" : buildPath("settings", tab);
}
