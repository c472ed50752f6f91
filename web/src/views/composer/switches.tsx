// What can be changed in mid-session: the mode, the model, how much it thinks; and how full the context is.
import { useEffect } from "react";
import type { SessionId } from "../../contract";
import { tokens } from "../../text/format";
import { store, useKnown, useOpened, useSummary } from "../../use";
import {
  BYPASS,
  defaultModel,
  MODES,
  modeLabel,
  modelLabel,
  modelsOf,
  thinkingOf,
  thinkingValue,
  thinkingWith,
} from "./modes";

/** The mode of a session. */
export function useMode(session: SessionId): string {
  const live = useOpened(session, (opened) => opened.transcript.status?.permission_mode);
  const listed = useSummary(session)?.permission_mode;
  return live ?? listed ?? "default";
}

/** Mode, model, thinking. */
export function Switches({ session }: { session: SessionId }) {
  const mode = useMode(session);
  const bypass = useKnown((known) => known.settings?.bypass_allowed ?? false);
  const model = useOpened(session, (opened) => opened.transcript.status?.model);
  const summary = useSummary(session);
  const settings = useKnown((known) => known.settings);
  const agent = summary?.agent ?? "claude";
  const current = model ?? summary?.model ?? "";
  const offers = modelsOf(settings, agent);
  const usual = defaultModel(settings, agent);
  const offer = offers.find((each) => each.value === current || each.model === current);
  const isUsual = offer === undefined && (current === "" || usual?.model === current);
  const thinking = summary?.max_thinking_tokens ?? null;
  const modes = bypass ? [...MODES, BYPASS] : MODES;
  // What an agent offers is known once it has run.
  const live = summary !== undefined && summary.state !== "ended";
  useEffect(() => {
    if (live) void store.loadSettings().catch(() => undefined);
  }, [live]);
  return (
    <div className="switches">
      <select
        className={`mode ${mode}`}
        aria-label="Mode"
        title="Mode (Shift+Tab)"
        value={mode}
        onChange={(event) => store.ask({ type: "set_mode", permission_mode: event.target.value }, session)}
      >
        {modes.map((each) => (
          <option key={each.name} value={each.name}>
            {each.label}
          </option>
        ))}
        {!modes.some((each) => each.name === mode) && <option value={mode}>{modeLabel(mode)}</option>}
      </select>
      <select
        aria-label="Model"
        title={current === "" ? "Model" : `Model: ${current}`}
        value={isUsual ? "" : (offer?.value ?? current)}
        onChange={(event) => store.ask({ type: "set_model", model: event.target.value || null }, session)}
      >
        <option value="" title={usual?.description}>
          {usual?.name ?? "default model"}
        </option>
        {offers.map((each) => (
          <option key={each.value} value={each.value} title={each.description}>
            {each.name}
          </option>
        ))}
        {!isUsual && offer === undefined && <option value={current}>{modelLabel(current)}</option>}
      </select>
      <select
        aria-label="Thinking"
        title="How much it may think"
        value={thinkingValue(thinking)}
        onChange={(event) =>
          store.ask({ type: "set_thinking", max_thinking_tokens: thinkingOf(event.target.value) }, session)
        }
      >
        {thinkingWith(thinking).map(([most, label]) => (
          <option key={label} value={thinkingValue(most)}>
            {label}
          </option>
        ))}
      </select>
    </div>
  );
}

/** How full the context is. */
export function ContextGauge({ session }: { session: SessionId }) {
  const context = useOpened(session, (opened) => opened.transcript.context_window);
  if (context === null || context.context_window_used === 0) return null;
  const share = Math.min(1, context.context_window_used / context.context_window_size);
  const per = Math.round(share * 100);
  const round = 2 * Math.PI * 7;
  return (
    <span
      className={`gauge ${share > 0.9 ? "full" : share > 0.7 ? "filling" : ""}`}
      role="img"
      aria-label={`The context is ${per} % full`}
      title={`${tokens(context.context_window_used)} of ${tokens(context.context_window_size)} tokens are in the context`}
    >
      <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden>
        <circle cx="9" cy="9" r="7" className="track" />
        <circle
          cx="9"
          cy="9"
          r="7"
          className="fill"
          strokeDasharray={`${round * share} ${round}`}
          transform="rotate(-90 9 9)"
        />
      </svg>
      {per} %
    </span>
  );
}
