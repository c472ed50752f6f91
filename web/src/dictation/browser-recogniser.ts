// The browser's own recogniser, where the host has no engine and the person was told where the sound goes.
//
// The one rule it keeps: it is begun by nothing but the button below that sentence.
import { refusalOfBrowser } from "./trouble";

/** What is used of it. */
interface Recogniser {
  lang: string;
  continuous: boolean;
  interimResults: boolean;
  onstart: (() => void) | null;
  onresult: ((event: { results: ArrayLike<ArrayLike<{ transcript: string }>> }) => void) | null;
  onerror: ((event: { error: string }) => void) | null;
  onend: (() => void) | null;
  start(): void;
  stop(): void;
  abort(): void;
}

type Kind = new () => Recogniser;

/** Who hears of it. */
export interface Hearing {
  begun(): void;
  interim(text: string): void;
  done(text: string): void;
  failed(reason: string): void;
}

/** A recogniser that listens. */
export interface Listening {
  stop(): void;
  abort(): void;
}

/** Whether this browser has one. */
export function hasRecogniser(): boolean {
  return kind() !== undefined;
}

/** Begins to listen. */
export function listen(language: string, hearing: Hearing): Listening {
  const Found = kind();
  if (Found === undefined) {
    hearing.failed("This browser has no recogniser of its own.");
    return { stop: () => undefined, abort: () => undefined };
  }
  const recogniser = new Found();
  let text = "";
  let over = false;
  const once = (word: () => void) => {
    if (!over) word();
    over = true;
  };
  recogniser.lang = language;
  recogniser.continuous = true;
  recogniser.interimResults = true;
  recogniser.onstart = () => hearing.begun();
  recogniser.onresult = ({ results }) => {
    text = Array.from(results, (result) => result[0]?.transcript ?? "")
      .join(" ")
      .replace(/\s+/g, " ")
      .trim();
    if (!over) hearing.interim(text);
  };
  recogniser.onerror = ({ error }) => once(() => hearing.failed(refusalOfBrowser(error)));
  recogniser.onend = () =>
    once(() => (text === "" ? hearing.failed(refusalOfBrowser("no-speech")) : hearing.done(text)));
  recogniser.start();
  return {
    stop: () => recogniser.stop(),
    abort: () => {
      over = true;
      recogniser.abort();
    },
  };
}

function kind(): Kind | undefined {
  const names = window as { SpeechRecognition?: Kind; webkitSpeechRecognition?: Kind };
  return names.SpeechRecognition ?? names.webkitSpeechRecognition;
}
