// Modes, models and thinking levels, as people call them.
import type { Agent, HostSettings, ModelOffer } from "../../contract";

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

/** Names that every CLI takes, until one has told its own. */
const USUAL: readonly ModelOffer[] = [
  { value: "opus", model: null, name: "Opus", description: "", efforts: [] },
  { value: "sonnet", model: null, name: "Sonnet", description: "", efforts: [] },
  { value: "haiku", model: null, name: "Haiku", description: "", efforts: [] },
];

/** What the agent's default is called. */
const DEFAULT = "default";

/** The models that an agent offers, as it told them last; its default has no name here. */
export function modelsOf(settings: HostSettings | null, agent: Agent): readonly ModelOffer[] {
  const told = settings?.agents.find((each) => each.agent === agent)?.models ?? [];
  const offers = told.length > 0 ? told : agent === "claude" ? USUAL : [];
  return offers.filter((offer) => offer.value !== DEFAULT);
}

/** What the agent takes if nobody chooses. */
export function defaultModel(settings: HostSettings | null, agent: Agent): ModelOffer | undefined {
  return settings?.agents.find((each) => each.agent === agent)?.models.find((offer) => offer.value === DEFAULT);
}

/** A model's name, shorter. */
export function modelLabel(model: string): string {
  return model.replace(/^claude-/, "").replace(/-\d{8}$/, "");
}

/** How much the model may think: in tokens, and in words. */
export const THINKING: ReadonlyArray<readonly [number | null, string]> = [
  [null, "default thinking"],
  [0, "no thinking"],
  [4_000, "some thinking"],
  [12_000, "more thinking"],
  [31_999, "most thinking"],
];

/** The levels, with the one in effect among them. */
export function thinkingWith(current: number | null): ReadonlyArray<readonly [number | null, string]> {
  return THINKING.some(([most]) => most === current) ? THINKING : [...THINKING, [current, `${current} tokens`]];
}

/** A level as the value of an option, and back. */
export const thinkingValue = (most: number | null) => (most === null ? "" : String(most));
export const thinkingOf = (value: string) => (value === "" ? null : Number(value));
