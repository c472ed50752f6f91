// Light or dark: as the system says, unless somebody chose.
import { keep, kept } from "./kept";

/** What can be chosen. */
export type Appearance = "system" | "light" | "dark";

/** What was chosen. */
export function appearance(): Appearance {
  return kept<Appearance>("appearance", "system");
}

/** Chooses. */
export function setAppearance(chosen: Appearance): void {
  keep("appearance", chosen);
  applyAppearance();
}

/** Makes the page look so. */
export function applyAppearance(): void {
  const chosen = appearance();
  if (chosen === "system") delete document.documentElement.dataset.appearance;
  else document.documentElement.dataset.appearance = chosen;
}
