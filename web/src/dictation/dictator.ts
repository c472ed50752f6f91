// Does what `state.ts` says: opens and closes the microphone, sends sound, puts text where it was wanted.
//
// The devices are given, so that a test can hold them in its hands. The one rule it keeps: whatever comes too late, of a
// dictation that is over, is let go of.
import type { ClientFrame, Dictation, SpeechState } from "../contract";
import type { Hearing, Listening } from "./browser-recogniser";
import type { Recording } from "./microphone";
import { levelOf, PORTION, RATE } from "./resampler";
import { type By, type Effect, IDLE, type Input, isActive, type Offer, type State, step } from "./state";
import { AWAY, type Browser, obstacle, refusal } from "./trouble";

/** What is needed of a browser and of the host. */
export interface Devices {
  browser(): Browser;
  open(): Promise<Recording>;
  granted(): Promise<boolean>;
  hasRecogniser(): boolean;
  listen(language: string, hearing: Hearing): Listening;
  /** Waits a moment for a host that is away; `false` if it did not come. */
  reached(): Promise<boolean>;
  /** Asks the host whether it understands speech. */
  speech(): Promise<SpeechState>;
  /** Tells the host; `false` if there is no connection. */
  send(message: ClientFrame | ArrayBuffer): boolean;
  name(): string;
  /** The language that the person has chosen, if any. */
  language(): string;
}

/** Where a text goes. */
export type Put = (text: string) => void;

/** The host takes ten minutes. A little before, what was said is understood rather than lost. */
const LONGEST_PORTIONS = (595 * RATE) / PORTION;

/** The one who dictates. */
export class Dictator {
  state: State = IDLE;
  /** How loud it is, from 0 to 1. */
  level = 0;
  /** What the host said of itself. */
  speech: SpeechState | null = null;
  readonly #targets = new Map<string, Put>();
  readonly #listeners = new Set<() => void>();
  #recording: Recording | null = null;
  #listening: Listening | null = null;
  #portions = 0;

  constructor(private readonly devices: Devices) {}

  /** Calls `listener` after every change; gives what ends that. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Makes a place known where text can go; gives what ends that, and its dictation. */
  target(name: string, put: Put): () => void {
    this.#targets.set(name, put);
    return () => {
      this.#targets.delete(name);
      this.#take({ type: "gone", target: name });
    };
  }

  /** Begins a dictation for a place; another one that is under way is cancelled. */
  begin(target: string, by: By = "host"): void {
    this.#take({ type: "begin", target, id: this.devices.name(), by });
  }

  /** All was said. */
  stop(): void {
    this.#take({ type: "stop" });
  }

  /** Nothing of it is wanted; what was told of a failure is put away. */
  cancel(): void {
    this.#take({ type: "cancel" });
  }

  /** The host says something. */
  told(told: Dictation): void {
    this.#take({ type: "told", told });
  }

  /** The connection to the host broke. */
  lost(): void {
    this.#take({ type: "lost" });
  }

  /** Which language is sent: the chosen one if it is understood, else the host's. */
  language(): string | undefined {
    const [chosen, known] = [this.devices.language(), this.speech?.languages ?? []];
    return chosen !== "" && (known.length === 0 || known.includes(chosen)) ? chosen : undefined;
  }

  #take(input: Input): void {
    const [next, effects] = step(this.state, input);
    const changed = next !== this.state;
    this.state = next;
    for (const effect of effects) this.#do(effect);
    if (changed) this.#draw();
  }

  #do(effect: Effect): void {
    switch (effect.type) {
      case "open":
        if (effect.by === "host") void this.#open(effect.id);
        else this.#listen(effect.id);
        break;
      case "start": {
        const language = this.language();
        const start = { type: "dictation_start", id: effect.id } as const;
        if (!this.devices.send(language === undefined ? start : { ...start, language })) this.lost();
        break;
      }
      case "finish":
        if (effect.by === "browser") this.#listening?.stop();
        else void this.#finish(effect.id);
        break;
      case "drop":
        this.devices.send({ type: "dictation_cancel", id: effect.id });
        break;
      case "close":
        this.#close();
        break;
      case "put":
        this.#targets.get(effect.target)?.(effect.text);
        break;
    }
  }

  async #open(id: string): Promise<void> {
    const trouble = (reason: string, offer: Offer = "none") => this.#take({ type: "trouble", id, reason, offer });
    const blocked = obstacle(this.devices.browser());
    if (blocked !== null) return trouble(blocked);
    if (!(await this.devices.reached())) return trouble(AWAY);
    try {
      if (this.speech?.available !== true) this.speech = await this.devices.speech();
    } catch (error) {
      return trouble(error instanceof Error ? error.message : String(error));
    }
    const { available, reason, browser_fallback } = this.speech;
    if (!available) {
      const offer = browser_fallback && this.devices.hasRecogniser() ? "browser" : "none";
      return trouble(reason ?? "the host has no engine that understands speech", offer);
    }
    if (!this.#isOf(id)) return;
    this.#take({ type: "reached", id });
    // Engines load while the microphone wakes up.
    void this.devices.granted().then((granted) => {
      if (granted) this.#take({ type: "granted", id });
    });
    let recording: Recording;
    try {
      recording = await this.devices.open();
    } catch (error) {
      return trouble(refusal(error));
    }
    if (!this.#isOf(id)) {
      recording.close();
      return;
    }
    this.#recording = recording;
    this.#portions = 0;
    this.#take({ type: "recording", id });
    recording.begin(
      (portion) => this.#sound(id, portion),
      // Pulled out: what was said up to now still counts.
      () => this.#isOf(id) && this.stop(),
    );
  }

  #sound(id: string, portion: ArrayBuffer): void {
    if (!this.#isOf(id)) return;
    if (!this.devices.send(portion)) {
      this.lost();
      return;
    }
    this.level = levelOf(portion);
    this.#portions += 1;
    if (this.#portions >= LONGEST_PORTIONS) this.stop();
    this.#draw();
  }

  async #finish(id: string): Promise<void> {
    await this.#recording?.finish();
    if (!this.#isOf(id)) return;
    this.#close();
    if (!this.devices.send({ type: "dictation_stop", id })) this.lost();
  }

  #listen(id: string): void {
    const told = (state: "interim" | "final", text: string) =>
      this.#take({ type: "told", told: { id, state, text, failure: null } });
    this.#listening = this.devices.listen(this.devices.language() || this.speech?.language || "en", {
      begun: () => this.#take({ type: "recording", id }),
      interim: (text) => told("interim", text),
      done: (text) => told("final", text),
      failed: (reason) => this.#take({ type: "trouble", id, reason, offer: "none" }),
    });
  }

  #close(): void {
    this.#recording?.close();
    this.#listening?.abort();
    this.#recording = this.#listening = null;
    this.level = 0;
  }

  #isOf(id: string): boolean {
    return isActive(this.state) && this.state.id === id;
  }

  #draw(): void {
    for (const listener of this.#listeners) listener();
  }
}
