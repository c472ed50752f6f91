// What is seen of a dictation: how loud it is, what was understood up to now, or why there is nothing.
//
// The one rule it keeps: a text that is not final stands here and nowhere else.
import { X } from "lucide-react";
import { keep, useKept } from "../kept";
import { dictator, LANGUAGE, type Spoken, useLevel } from "./use";

/** The panel; nothing while nobody speaks to the field. */
export function DictationPanel({ spoken }: { spoken: Spoken }) {
  const { state, target } = spoken;
  if (state.at === "idle") return null;
  if (state.at === "failed") return <Failed target={target} reason={state.reason} offer={state.offer} />;
  return (
    <div className={`dictation ${state.at}`} role="group" aria-label="Dictation">
      {state.at === "listening" && <Meter />}
      <p className="interim" aria-live="polite">
        {state.at === "asking" ? (
          <span className="faint">
            {state.reached ? "Waiting for the microphone. If the browser asks, allow it …" : "Waiting for the host …"}
          </span>
        ) : state.text !== "" ? (
          state.text
        ) : (
          <span className="faint">{state.at === "listening" ? "Speak now …" : "Understanding …"}</span>
        )}
      </p>
      <div className="dictation-foot">
        {state.by === "browser" ? (
          <span className="faint">The sound may go to the maker of this browser.</span>
        ) : (
          <Language target={target} working={state.at === "working"} />
        )}
        <span className="space" />
        {state.at === "listening" && (
          <button type="button" onClick={() => dictator.stop()}>
            Stop
          </button>
        )}
        <button type="button" className="quiet" onClick={() => dictator.cancel()}>
          Cancel <kbd>Esc</kbd>
        </button>
      </div>
    </div>
  );
}

function Failed({ target, reason, offer }: { target: string; reason: string; offer: "none" | "browser" }) {
  return (
    <div className="dictation failed" role="group" aria-label="Dictation">
      <p role="alert">{sentence(reason)}</p>
      <button type="button" className="quiet icon" aria-label="Put away" onClick={() => dictator.cancel()}>
        <X size={15} />
      </button>
      {offer === "browser" && (
        <div className="dictation-foot">
          <span>
            This browser has a recogniser of its own. With it the sound does not stay on your machines: it may go to the
            maker of the browser.
          </span>
          <button type="button" onClick={() => dictator.begin(target, "browser")}>
            Use the browser's
          </button>
        </div>
      )}
    </div>
  );
}

function Meter() {
  const level = Math.round(useLevel() * 100);
  return (
    <div
      className="meter"
      role="meter"
      aria-label="Loudness"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={level}
    >
      <span style={{ width: `${level}%` }} />
    </div>
  );
}

/** What is spoken; another choice begins anew. */
function Language({ target, working }: { target: string; working: boolean }) {
  const [chosen] = useKept(LANGUAGE, "");
  const { speech } = dictator;
  if (speech === null) return null;
  const choices = choicesOf(speech.languages, speech.language);
  const now = choices.includes(chosen) ? chosen : speech.language;
  if (choices.length < 2) return <span className="faint">{nameOf(now)}</span>;
  return (
    <select
      aria-label="Spoken language"
      value={now}
      disabled={working}
      onChange={(event) => {
        keep(LANGUAGE, event.target.value);
        dictator.begin(target);
      }}
    >
      {choices.map((language) => (
        <option key={language} value={language}>
          {nameOf(language)}
        </option>
      ))}
    </select>
  );
}

/** The languages of the engine; of one that knows many, the host's and those of this browser. */
function choicesOf(known: readonly string[], host: string): string[] {
  const own = navigator.languages.map((language) => language.split("-")[0] ?? language);
  return [...new Set(known.length > 0 ? known : [host, ...own])];
}

function nameOf(language: string): string {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(language) ?? language;
  } catch {
    return language;
  }
}

/** The host's reasons begin small and end open. */
function sentence(reason: string): string {
  const begun = reason.charAt(0).toUpperCase() + reason.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
