// A dictation without a browser: its steps in any order, its devices in the hands of the test.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ClientFrame, Dictation, SpeechState } from "../src/contract";
import type { Hearing } from "../src/dictation/browser-recogniser";
import { type Devices, Dictator } from "../src/dictation/dictator";
import type { Recording } from "../src/dictation/microphone";
import { type Effect, IDLE, type Input, isActive, type State, step } from "../src/dictation/state";
import { obstacle, refusal, refusalOfBrowser } from "../src/dictation/trouble";

function walk(inputs: readonly Input[]): { state: State; effects: Effect[] } {
  let state: State = IDLE;
  const effects: Effect[] = [];
  for (const input of inputs) {
    const [next, wanted] = step(state, input);
    state = next;
    effects.push(...wanted);
  }
  return { state, effects };
}

const told = (id: string, state: Dictation["state"], text?: string): Input => ({
  type: "told",
  told: { id, state, text, failure: state === "failed" ? { code: "engine_failed", reason: "it died" } : null },
});
const begin = (id: string, target = "a"): Input => ({ type: "begin", id, target, by: "host" });

describe("a dictation", () => {
  it("goes from the button to the text", () => {
    const { state, effects } = walk([
      begin("1"),
      { type: "recording", id: "1" },
      told("1", "listening"),
      told("1", "interim", "run"),
      { type: "stop" },
      told("1", "final", "run the tests"),
    ]);
    expect(state).toEqual(IDLE);
    expect(effects.map((effect) => effect.type)).toEqual(["open", "start", "finish", "close", "put"]);
    expect(effects.at(-1)).toEqual({ type: "put", target: "a", text: "run the tests" });
  });

  it("tells the host before the microphone is there if it is sure to come, and only once", () => {
    const { effects } = walk([begin("1"), { type: "granted", id: "1" }, { type: "recording", id: "1" }]);
    expect(effects.map((effect) => effect.type)).toEqual(["open", "start"]);
  });

  it("waits for the host first, and then for the microphone", () => {
    expect(walk([begin("1")]).state).toMatchObject({ at: "asking", reached: false });
    expect(walk([begin("1"), { type: "reached", id: "2" }]).state).toMatchObject({ reached: false });
    expect(walk([begin("1"), { type: "reached", id: "1" }]).state).toMatchObject({ at: "asking", reached: true });
    const own: Input = { type: "begin", id: "1", target: "a", by: "browser" };
    expect(walk([own]).state).toMatchObject({ at: "asking", reached: true });
  });

  it("shows what is understood meanwhile and puts it nowhere", () => {
    const { state, effects } = walk([begin("1"), { type: "recording", id: "1" }, told("1", "interim", "run the")]);
    expect(state).toMatchObject({ at: "listening", text: "run the" });
    expect(effects.some((effect) => effect.type === "put")).toBe(false);
  });

  it("puts nothing when it is cancelled, and tells the host", () => {
    const { state, effects } = walk([
      begin("1"),
      { type: "recording", id: "1" },
      { type: "cancel" },
      told("1", "final", "too late"),
    ]);
    expect(state).toEqual(IDLE);
    expect(effects.map((effect) => effect.type)).toEqual(["open", "start", "close", "drop"]);
  });

  it("that is stopped before the microphone was there is none", () => {
    const { state, effects } = walk([begin("1"), { type: "stop" }, { type: "recording", id: "1" }]);
    expect(state).toEqual(IDLE);
    expect(effects.map((effect) => effect.type)).toEqual(["open", "close"]);
  });

  it("says why it failed, and can be begun again", () => {
    const failed = walk([begin("1"), { type: "recording", id: "1" }, told("1", "failed")]);
    expect(failed.state).toEqual({ at: "failed", target: "a", reason: "it died", offer: "none" });
    expect(failed.effects.at(-1)).toEqual({ type: "close" });
    expect(step(failed.state, begin("2"))[0]).toMatchObject({ at: "asking", id: "2" });
    expect(step(failed.state, { type: "cancel" })[0]).toEqual(IDLE);
  });

  it("fails when the connection breaks, unless the browser understands it", () => {
    const host = walk([begin("1"), { type: "recording", id: "1" }, { type: "lost" }]);
    expect(host.state).toMatchObject({ at: "failed" });
    expect(walk([begin("1"), { type: "granted", id: "1" }, { type: "lost" }]).state.at).toBe("failed");
    // Nothing was said, and the host knows of nothing.
    expect(walk([begin("1"), { type: "lost" }]).state.at).toBe("asking");
    const own: Input = { type: "begin", id: "1", target: "a", by: "browser" };
    expect(walk([own, { type: "recording", id: "1" }, { type: "lost" }]).state.at).toBe("listening");
  });

  it("ends with the field that it is for, and with no other", () => {
    const speaking: Input[] = [begin("1"), { type: "recording", id: "1" }];
    expect(walk([...speaking, { type: "gone", target: "b" }]).state.at).toBe("listening");
    expect(walk([...speaking, { type: "gone", target: "a" }]).state).toEqual(IDLE);
  });

  it("holds one microphone at most and lets go of it, whatever happens in whatever order", () => {
    const id = fc.constantFrom("1", "2", "3");
    const target = fc.constantFrom("a", "b");
    const input: fc.Arbitrary<Input> = fc.oneof(
      fc.record({ type: fc.constant("begin" as const), id, target, by: fc.constantFrom("host", "browser") }),
      fc.record({ type: fc.constantFrom("reached", "granted", "recording"), id }),
      fc
        .tuple(id, fc.constantFrom("listening", "interim", "final", "failed", "cancelled"))
        .map(([id, state]) => told(id, state as Dictation["state"], "words")),
      fc.record({
        type: fc.constant("trouble" as const),
        id,
        reason: fc.constant("no"),
        offer: fc.constantFrom("none", "browser"),
      }),
      fc.constantFrom<Input>({ type: "stop" }, { type: "cancel" }, { type: "lost" }),
      fc.record({ type: fc.constant("gone" as const), target }),
    ) as fc.Arbitrary<Input>;
    fc.assert(
      fc.property(fc.array(input, { maxLength: 40 }), (inputs) => {
        let state: State = IDLE;
        let open = false;
        for (const each of inputs) {
          const [next, effects] = step(state, each);
          for (const effect of effects) {
            if (effect.type === "close") open = false;
            if (effect.type === "open") {
              expect(open).toBe(false);
              open = true;
            }
            if (effect.type === "put") {
              expect(each).toMatchObject({ type: "told", told: { state: "final" } });
              expect(isActive(state) && state.target).toBe(effect.target);
            }
          }
          state = next;
          expect(open).toBe(isActive(state));
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

const SPEECH: SpeechState = {
  available: true,
  engine: "moonshine",
  language: "en",
  languages: ["en"],
  reason: null,
  browser_fallback: true,
};

/** A microphone that the test speaks into. */
class TestRecording implements Recording {
  closed = false;
  sound: (portion: ArrayBuffer) => void = () => undefined;
  ended: () => void = () => undefined;
  begin(sound: (portion: ArrayBuffer) => void, ended: () => void): void {
    [this.sound, this.ended] = [sound, ended];
  }
  async finish(): Promise<void> {
    this.sound(new ArrayBuffer(10));
    this.closed = true;
  }
  close(): void {
    this.closed = true;
  }
}

function stage(given: Partial<Devices> = {}) {
  const sent: (ClientFrame | "sound")[] = [];
  const put: string[] = [];
  const recordings: TestRecording[] = [];
  let hearing: Hearing | null = null;
  let names = 0;
  const dictator = new Dictator({
    browser: () => ({ secure: true, microphones: true, touch: false }),
    open: async () => {
      const recording = new TestRecording();
      recordings.push(recording);
      return recording;
    },
    granted: async () => false,
    hasRecogniser: () => true,
    listen: (_, given) => {
      hearing = given;
      return { stop: () => given.done("by the browser"), abort: () => undefined };
    },
    reached: async () => true,
    speech: async () => SPEECH,
    send: (message) => {
      sent.push(message instanceof ArrayBuffer ? "sound" : message);
      return true;
    },
    name: () => `d${(names += 1)}`,
    language: () => "",
    ...given,
  });
  dictator.target("field", (text) => put.push(text));
  const until = async (at: State["at"]) => {
    for (let turn = 0; dictator.state.at !== at && turn < 50; turn += 1) await Promise.resolve();
    expect(dictator.state.at).toBe(at);
  };
  return { dictator, sent, put, recordings, until, hearing: () => hearing as Hearing | null };
}

const types = (sent: readonly (ClientFrame | "sound")[]) => sent.map((each) => (each === "sound" ? each : each.type));

describe("the dictator", () => {
  it("sends the start, the sound, the last of the sound, and the stop, in this order", async () => {
    const { dictator, sent, put, recordings, until } = stage();
    dictator.begin("field");
    await until("listening");
    recordings[0]?.sound(new ArrayBuffer(3200));
    dictator.stop();
    for (let turn = 0; sent.length < 4 && turn < 50; turn += 1) await Promise.resolve();
    expect(types(sent)).toEqual(["dictation_start", "sound", "sound", "dictation_stop"]);
    expect(recordings[0]?.closed).toBe(true);
    dictator.told({ id: "d1", state: "final", text: "run the tests", failure: null });
    expect(put).toEqual(["run the tests"]);
  });

  it("says what the host says when it has no engine, asks again the next time, and offers the browser's", async () => {
    let asked = 0;
    const { dictator, sent, put, until, hearing } = stage({
      speech: async () => {
        asked += 1;
        return { ...SPEECH, available: false, reason: "no engine is here: run `jackfield speech setup`" };
      },
    });
    dictator.begin("field");
    await until("failed");
    expect(dictator.state).toMatchObject({ reason: expect.stringMatching(/speech setup/), offer: "browser" });
    expect(hearing()).toBeNull();
    dictator.begin("field");
    await until("failed");
    expect(asked).toBe(2);
    dictator.begin("field", "browser");
    hearing()?.begun();
    hearing()?.interim("by the");
    expect(dictator.state).toMatchObject({ at: "listening", text: "by the" });
    dictator.stop();
    expect(put).toEqual(["by the browser"]);
    expect(sent).toEqual([]);
  });

  it("closes a microphone that comes when nobody wants it any more", async () => {
    let give: (recording: Recording) => void = () => undefined;
    const { dictator, sent } = stage({ open: () => new Promise((resolve) => (give = resolve)) });
    dictator.begin("field");
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    dictator.cancel();
    const late = new TestRecording();
    give(late);
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    expect(late.closed).toBe(true);
    expect(sent).toEqual([]);
  });

  it("waits for a host that is on its way back, and says so when it does not come", async () => {
    let settle: (reached: boolean) => void = () => undefined;
    const { dictator, sent, recordings, until } = stage({
      reached: () => new Promise((resolve) => (settle = resolve)),
    });
    dictator.begin("field");
    dictator.lost();
    expect(dictator.state).toMatchObject({ at: "asking", reached: false });
    settle(true);
    await until("listening");
    expect(types(sent)).toEqual(["dictation_start"]);
    dictator.begin("field");
    settle(false);
    await until("failed");
    expect(dictator.state).toMatchObject({ reason: expect.stringMatching(/^The host is away/) });
    expect(recordings.map(({ closed }) => closed)).toEqual([true]);
  });

  it("fails in plain words, closes the microphone and puts nothing when the host is away", async () => {
    const { dictator, put, recordings, until } = stage({ send: () => false });
    dictator.begin("field");
    await until("failed");
    expect(dictator.state).toMatchObject({ reason: expect.stringMatching(/connection to the host broke/) });
    expect(recordings[0]?.closed).toBe(true);
    expect(put).toEqual([]);
  });

  it("understands what was said when the microphone is pulled out, or just before ten minutes are over", async () => {
    const pulled = stage();
    pulled.dictator.begin("field");
    await pulled.until("listening");
    pulled.recordings[0]?.ended();
    expect(pulled.dictator.state.at).toBe("working");
    const long = stage();
    long.dictator.begin("field");
    await long.until("listening");
    let portions = 0;
    for (; portions < 6_000 && long.dictator.state.at === "listening"; portions += 1) {
      long.recordings[0]?.sound(new ArrayBuffer(2));
    }
    expect(long.dictator.state.at).toBe("working");
    expect(portions).toBeLessThan(6_000);
  });

  it("sends the chosen language only where it is understood", async () => {
    const known = stage({ language: () => "de" });
    known.dictator.begin("field");
    await known.until("listening");
    expect(known.sent[0]).toEqual({ type: "dictation_start", id: "d1" });
    const many = stage({ language: () => "de", speech: async () => ({ ...SPEECH, languages: [] }) });
    many.dictator.begin("field");
    await many.until("listening");
    expect(many.sent[0]).toEqual({ type: "dictation_start", id: "d1", language: "de" });
  });
});

describe("trouble with the microphone", () => {
  it("is told in plain words with what to do", () => {
    const named = (name: string) => refusal(new DOMException("", name));
    expect(named("NotAllowedError")).toMatch(/does not let this page.*Allow it/);
    expect(named("NotFoundError")).toMatch(/No microphone was found.*Connect one/);
    expect(named("NotReadableError")).toMatch(/another program/);
    expect(refusal(new Error("odd"))).toMatch(/odd/);
    expect(refusalOfBrowser("not-allowed")).toMatch(/Allow it/);
    expect(refusalOfBrowser("network")).toMatch(/cannot be reached/);
  });

  it("begins with a page that is not secure, on a phone too", () => {
    expect(obstacle({ secure: true, microphones: true, touch: false })).toBeNull();
    expect(obstacle({ secure: false, microphones: false, touch: false })).toMatch(/secure page.*localhost.*TLS/);
    expect(obstacle({ secure: false, microphones: false, touch: true })).toMatch(/phone.*https/);
    expect(obstacle({ secure: true, microphones: false, touch: false })).toMatch(/no way to a microphone/);
  });
});
