// The microphone beside a field.
import { LoaderCircle, Mic, MicOff, Square } from "lucide-react";
import type { State } from "./state";
import type { Spoken } from "./use";

/** The button; nothing where the host takes no dictations. */
export function MicrophoneButton({ spoken, label }: { spoken: Spoken; label: string }) {
  const { state, offered, button, press } = spoken;
  if (!offered) return null;
  const words = wordsOf(state, label);
  return (
    <button
      ref={button}
      type="button"
      className={`quiet icon microphone ${state.at}`}
      aria-label={words}
      title={state.at === "idle" || state.at === "failed" ? `${words} (hold Alt M)` : words}
      aria-pressed={state.at === "listening"}
      onClick={press}
    >
      <Icon at={state.at} />
    </button>
  );
}

function wordsOf(state: State, label: string): string {
  if (state.at === "listening") return "Stop dictating";
  return state.at === "asking" || state.at === "working" ? "Cancel the dictation" : label;
}

function Icon({ at }: { at: State["at"] }) {
  switch (at) {
    case "idle":
      return <Mic size={17} aria-hidden />;
    case "listening":
      return <Square size={14} fill="currentColor" aria-hidden />;
    case "failed":
      return <MicOff size={17} aria-hidden />;
    default:
      return <LoaderCircle size={17} className="spin" aria-hidden />;
  }
}
