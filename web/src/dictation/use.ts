// Dictation in React: the one dictator of the page, and a hook for every field that can be spoken to.
import { useCallback, useEffect, useId, useRef, useSyncExternalStore } from "react";
import * as api from "../api";
import { kept } from "../kept";
import { freshName } from "../surroundings";
import { store, useKnown } from "../use";
import { hasRecogniser, listen } from "./browser-recogniser";
import { Dictator, type Put } from "./dictator";
import { followKeys, SpokenFields } from "./keys";
import { isGranted, openMicrophone } from "./microphone";
import { IDLE, isActive, type State } from "./state";

/** Where the chosen language is kept. */
export const LANGUAGE = "dictation.language";

/** A host that is started anew is back before this. */
const PATIENCE_MS = 5_000;

/** The one dictator of the page. */
export const dictator = new Dictator({
  browser: () => ({
    secure: window.isSecureContext,
    microphones: navigator.mediaDevices !== undefined && typeof AudioWorkletNode !== "undefined",
    touch: matchMedia("(pointer: coarse) and (hover: none)").matches,
  }),
  open: openMicrophone,
  granted: isGranted,
  hasRecogniser,
  listen,
  reached: () => store.reached(PATIENCE_MS),
  speech: api.speech,
  send: (message) => store.connection.speak(message),
  name: freshName,
  language: () => kept(LANGUAGE, ""),
});

const fields = new SpokenFields();
let follows = false;

function follow(): void {
  if (follows) return;
  follows = true;
  store.hear((told) => (told === null ? dictator.lost() : dictator.told(told)));
  followKeys(dictator, fields);
}

/** A field that can be spoken to. */
export interface Spoken {
  readonly state: State;
  /** Its name. */
  readonly target: string;
  /** Whether the host takes dictations of this page. */
  readonly offered: boolean;
  /** The button, by which keys find the field. */
  readonly button: React.RefObject<HTMLButtonElement | null>;
  /** What a press on its button does. */
  press(): void;
}

/** Whether a field is what is spoken to if the focus is nowhere. */
export type Rank = "first" | "other";

/** Makes a field one that can be spoken to. */
export function useSpoken(put: Put, rank: Rank = "other"): Spoken {
  const target = useId();
  const button = useRef<HTMLButtonElement>(null);
  const latest = useRef(put);
  latest.current = put;
  const offered = useOffered();
  useEffect(() => {
    follow();
    const leave = fields.add({ target, rank, button: () => button.current });
    const forget = dictator.target(target, (text) => latest.current(text));
    return () => {
      leave();
      forget();
    };
  }, [target, rank]);
  const state = useSyncExternalStore(dictator.subscribe, () =>
    dictator.state.at !== "idle" && dictator.state.target === target ? dictator.state : IDLE,
  );
  const press = useCallback(() => {
    const now = dictator.state;
    if (!isActive(now) || now.target !== target) dictator.begin(target);
    else if (now.at === "listening") dictator.stop();
    else dictator.cancel();
  }, [target]);
  return { state, target, offered, button, press };
}

/** How loud it is. */
export function useLevel(): number {
  return useSyncExternalStore(dictator.subscribe, () => dictator.level);
}

/** What a host that is away was like still holds. */
let wasOffered = false;

function useOffered(): boolean {
  return useKnown(({ link }) => {
    if (link.state === "online") {
      wasOffered = link.host.capabilities.includes("dictation") && link.host.scope !== "view";
    }
    return wasOffered;
  });
}
