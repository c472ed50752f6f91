// A dictation, from the press of a button to its text: what happens, and what is to be done about it.
//
// Nothing here touches a microphone or a socket; `dictation.ts` does what is said here. The one rule it keeps: there
// is one dictation at a time, it ends once, and only one that was understood puts anything anywhere.
import type { Dictation } from "../contract";

/** Who understands it: the host's engine, or the browser's own. */
export type By = "host" | "browser";

/** A dictation that is under way. */
interface Speaking {
  /** Its name. */
  readonly id: string;
  /** Whose microphone was pressed. */
  readonly target: string;
  readonly by: By;
}

/** How it stands. */
export type State =
  | { readonly at: "idle" }
  /** The host is waited for, and once it is `reached` the microphone; `begun` if the host was told already. */
  | (Speaking & { readonly at: "asking"; readonly reached: boolean; readonly begun: boolean })
  /** Somebody speaks; `text` is what was understood up to now. */
  | (Speaking & { readonly at: "listening"; readonly text: string })
  /** All was said; the text is on its way. */
  | (Speaking & { readonly at: "working"; readonly text: string })
  /** It came to nothing. `offer` says whether the browser's own recogniser may be offered. */
  | { readonly at: "failed"; readonly target: string; readonly reason: string; readonly offer: Offer };

/** Whether the browser's own recogniser may be offered in place of an engine that is not there. */
export type Offer = "none" | "browser";

/** What happens. */
export type Input =
  | { readonly type: "begin"; readonly target: string; readonly id: string; readonly by: By }
  /** The host is there, and understands speech. */
  | { readonly type: "reached"; readonly id: string }
  /** The microphone will be there in a moment: the host can begin to load its engine. */
  | { readonly type: "granted"; readonly id: string }
  | { readonly type: "recording"; readonly id: string }
  | { readonly type: "told"; readonly told: Dictation }
  | { readonly type: "trouble"; readonly id: string; readonly reason: string; readonly offer: Offer }
  | { readonly type: "stop" }
  | { readonly type: "cancel" }
  /** The connection to the host broke. */
  | { readonly type: "lost" }
  /** The field that it was for is gone. */
  | { readonly type: "gone"; readonly target: string };

/** What is to be done. */
export type Effect =
  | { readonly type: "open"; readonly id: string; readonly by: By }
  /** Tell the host that a dictation begins. */
  | { readonly type: "start"; readonly id: string }
  /** Send what was recorded up to now, then tell the host that this was all. */
  | { readonly type: "finish"; readonly id: string; readonly by: By }
  /** Tell the host that nothing of it is wanted. */
  | { readonly type: "drop"; readonly id: string }
  /** Let go of the microphone. */
  | { readonly type: "close" }
  | { readonly type: "put"; readonly target: string; readonly text: string };

/** Nobody speaks. */
export const IDLE: State = { at: "idle" };

const LOST = "The connection to the host broke, and what was said with it. Your text is as it was; try again.";

/** What comes of an input. */
export function step(state: State, input: Input): readonly [State, readonly Effect[]] {
  switch (input.type) {
    case "begin": {
      const { target, id, by } = input;
      const [, before] = over(state, IDLE);
      const asking: State = { at: "asking", target, id, by, reached: by === "browser", begun: false };
      return [asking, [...before, { type: "open", id, by }]];
    }
    case "reached":
      return state.at === "asking" && state.id === input.id ? [{ ...state, reached: true }, []] : [state, []];
    case "granted":
      if (state.at !== "asking" || state.id !== input.id || state.begun || state.by !== "host") return [state, []];
      return [{ ...state, begun: true }, [{ type: "start", id: state.id }]];
    case "recording": {
      if (state.at !== "asking" || state.id !== input.id) return [state, []];
      const { id, target, by, begun } = state;
      const start: Effect[] = begun || by === "browser" ? [] : [{ type: "start", id }];
      return [{ at: "listening", id, target, by, text: "" }, start];
    }
    case "told":
      return heard(state, input.told);
    case "trouble":
      if (!isActive(state) || state.id !== input.id) return [state, []];
      return over(state, { at: "failed", target: state.target, reason: input.reason, offer: input.offer });
    case "stop":
      if (state.at === "listening") {
        const { id, target, by, text } = state;
        return [{ at: "working", id, target, by, text }, [{ type: "finish", id, by }]];
      }
      // Nothing can have been said yet.
      return state.at === "asking" ? over(state, IDLE) : [state, []];
    case "cancel":
      return over(state, IDLE);
    case "lost":
      if (!isActive(state) || state.by === "browser") return [state, []];
      // The host knows of nothing yet that could be lost.
      if (state.at === "asking" && !state.begun) return [state, []];
      return [{ at: "failed", target: state.target, reason: LOST, offer: "none" }, [{ type: "close" }]];
    case "gone":
      return state.at !== "idle" && state.target === input.target ? over(state, IDLE) : [state, []];
  }
}

/** Whether something is under way. */
export function isActive(state: State): state is Exclude<State, { at: "idle" | "failed" }> {
  return state.at !== "idle" && state.at !== "failed";
}

function heard(state: State, told: Dictation): readonly [State, readonly Effect[]] {
  if (!isActive(state) || state.id !== told.id) return [state, []];
  const { target } = state;
  const close: Effect = { type: "close" };
  switch (told.state) {
    case "listening":
      return [state, []];
    case "interim":
      return state.at === "asking" ? [state, []] : [{ ...state, text: told.text ?? "" }, []];
    case "final":
      return [IDLE, [close, { type: "put", target, text: told.text ?? "" }]];
    case "failed":
      return [
        { at: "failed", target, reason: told.failure?.reason ?? "nothing was understood", offer: "none" },
        [close],
      ];
    case "cancelled":
      return [IDLE, [close]];
  }
}

/** Ends what is under way without a text. */
function over(state: State, next: State): readonly [State, readonly Effect[]] {
  if (!isActive(state)) return [next, []];
  const told = state.by === "host" && (state.at !== "asking" || state.begun);
  const drop: Effect[] = told ? [{ type: "drop", id: state.id }] : [];
  return [next, [{ type: "close" }, ...drop]];
}
