// Modes, models and thinking levels, as people call them.

/** A permission mode: the CLI's name, ours, and what it means. */
export interface Mode {
  readonly name: string;
  readonly label: string;
  readonly about: string;
}

/** The modes that are always there, in the order in which Shift+Tab walks them. */
export const MODES: readonly Mode[] = [
  { name: "default", label: "ask", about: "asks before it changes anything" },
  { name: "acceptEdits", label: "act", about: "edits files without asking" },
  { name: "plan", label: "plan", about: "reads and plans, changes nothing" },
];

/** The one that asks nothing; only where it was allowed on the host itself. */
export const BYPASS: Mode = { name: "bypassPermissions", label: "bypass", about: "asks nothing at all" };

const OTHERS: Record<string, string> = { dontAsk: "don’t ask", auto: "auto", bypassPermissions: "bypass" };

/** What people call a mode. */
export function modeLabel(name: string): string {
  return MODES.find((mode) => mode.name === name)?.label ?? OTHERS[name] ?? name;
}

/** The mode behind this one. */
export function nextMode(name: string): string {
  const at = MODES.findIndex((mode) => mode.name === name);
  return MODES[(at + 1) % MODES.length]?.name ?? "default";
}

/** Models by the names that the CLI takes for the newest of each. */
export const MODELS: ReadonlyArray<readonly [string, string]> = [
  ["opus", "Opus"],
  ["sonnet", "Sonnet"],
  ["haiku", "Haiku"],
];

/** A model's name, shorter. */
export function modelLabel(model: string): string {
  return model.replace(/^claude-/, "").replace(/-\d{8}$/, "");
}

/** How much the model may think. */
export const THINKING: ReadonlyArray<readonly [string, string, number | null]> = [
  ["default", "default thinking", null],
  ["off", "no thinking", 0],
  ["some", "some thinking", 4_000],
  ["more", "more thinking", 12_000],
  ["most", "most thinking", 31_999],
];
