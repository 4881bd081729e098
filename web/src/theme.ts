/** Light or dark: as the system says, until a person chooses. */

import { effect, signal } from "@preact/signals";

import { readSetting, writeSetting } from "./settings.js";

export type Theme = "light" | "dark" | "system";

const system = matchMedia("(prefers-color-scheme: dark)");
const isSystemDark = signal(system.matches);
export const theme = signal<Theme>(parseTheme(readSetting("theme")));

export function installTheme(): void {
  system.addEventListener("change", () => (isSystemDark.value = system.matches));
  effect(() => {
    document.documentElement.dataset["theme"] = isDark() ? "dark" : "light";
  });
}

export function isDark(): boolean {
  return theme.value === "dark" || (theme.value === "system" && isSystemDark.value);
}

export function setTheme(next: Theme): void {
  theme.value = next;
  writeSetting("theme", next === "system" ? null : next);
}

function parseTheme(text: string | null): Theme {
  return text === "light" || text === "dark" ? text : "system";
}
