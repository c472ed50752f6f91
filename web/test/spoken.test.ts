// What becomes of spoken words and of sound.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { levelOf, PORTION, Portions, RATE, Resampler } from "../src/dictation/resampler";
import { insertSpoken, spokenAnswer, spokenChoice } from "../src/dictation/spoken";

describe("spoken words in a text", () => {
  it("stand where the cursor is, with a space where words would touch", () => {
    expect(insertSpoken("", 0, 0, " Run the tests. ")).toEqual({ text: "Run the tests.", caret: 14 });
    expect(insertSpoken("Please", 6, 6, "run")).toEqual({ text: "Please run", caret: 10 });
    expect(insertSpoken("a c", 2, 2, "b")).toEqual({ text: "a b c", caret: 3 });
    expect(insertSpoken("Look here.", 9, 9, "and there")).toEqual({ text: "Look here and there.", caret: 19 });
  });

  it("take the place of what is selected", () => {
    expect(insertSpoken("use spaces here", 4, 10, "tabs")).toEqual({ text: "use tabs here", caret: 8 });
  });

  it("change nothing else, wherever they go", () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(), fc.string(), (text, place, words) => {
        const at = place % (text.length + 1);
        const put = insertSpoken(text, at, at, words);
        expect(put.text.startsWith(text.slice(0, at))).toBe(true);
        expect(put.text.endsWith(text.slice(at))).toBe(true);
        expect(put.text.includes(words.trim())).toBe(true);
        if (words.trim() === "") expect(put.text).toBe(text);
      }),
    );
  });
});

describe("a spoken answer", () => {
  it("is a yes only where nothing else was said", () => {
    for (const yes of ["Approve.", "allow", "Yes", "yes, please!", "Allow it.", "Okay.", "go ahead"]) {
      expect(spokenAnswer(yes)).toEqual({ answer: "allow", heard: yes });
    }
    for (const other of [
      "yes but use tabs",
      "allow nothing",
      "a low",
      "allow and remember",
      "yesterday",
      "approve of it?? never",
      "I would not allow that",
      "not approved",
      "",
    ]) {
      expect(spokenAnswer(other).answer, other).not.toBe("allow");
    }
  });

  it("is a no with what should be done instead", () => {
    expect(spokenAnswer("Deny, use tabs.")).toMatchObject({ answer: "deny", reason: "use tabs." });
    expect(spokenAnswer("No.")).toMatchObject({ answer: "deny", reason: "" });
    expect(spokenAnswer("Deny it")).toMatchObject({ answer: "deny", reason: "" });
    expect(spokenAnswer("Reject that, run the tests first")).toMatchObject({ reason: "run the tests first" });
    expect(spokenAnswer("don't allow it")).toMatchObject({ answer: "deny", reason: "" });
  });

  it("never loses the not of a reason", () => {
    expect(spokenAnswer("Do not delete the folder")).toMatchObject({
      answer: "deny",
      reason: "Do not delete the folder",
    });
    expect(spokenAnswer("No, don't push it")).toMatchObject({ answer: "deny", reason: "don't push it" });
  });

  it("is unclear where it is neither", () => {
    expect(spokenAnswer("use tabs instead")).toEqual({ answer: "unclear", heard: "use tabs instead" });
    expect(spokenAnswer("nothing")).toMatchObject({ answer: "unclear" });
  });

  it("is never a yes with a word more, whatever the word", () => {
    fc.assert(
      fc.property(fc.constantFrom("allow", "approve", "yes", "ok"), fc.stringMatching(/^[a-z]{3,9}$/), (yes, word) => {
        fc.pre(!["this", "that", "please"].includes(word));
        expect(spokenAnswer(`${yes} ${word}`).answer).not.toBe("allow");
        expect(spokenAnswer(`${word} ${yes}`).answer).not.toBe("allow");
      }),
    );
  });
});

describe("a spoken choice", () => {
  it("is named by its words or its number, else it is none", () => {
    const labels = ["PostgreSQL", "SQLite (small)", "Two files"];
    expect(spokenChoice("sqlite small.", labels)).toBe("SQLite (small)");
    expect(spokenChoice("Option two", labels)).toBe("SQLite (small)");
    expect(spokenChoice("3", labels)).toBe("Two files");
    expect(spokenChoice("two files", labels)).toBe("Two files");
    expect(spokenChoice("number nine", labels)).toBeNull();
    expect(spokenChoice("something else entirely", labels)).toBeNull();
    expect(spokenChoice("", labels)).toBeNull();
  });
});

function tone(hertz: number, rate: number, seconds: number): Float32Array {
  return Float32Array.from({ length: rate * seconds }, (_, at) => 0.5 * Math.sin((2 * Math.PI * hertz * at) / rate));
}

function loudness(samples: Float32Array): number {
  const middle = samples.slice(400, -400);
  return Math.sqrt(middle.reduce((sum, sample) => sum + sample * sample, 0) / middle.length);
}

describe("the resampler", () => {
  it("keeps what is heard and drops what would fold back", () => {
    for (const rate of [48_000, 44_100, 96_000]) {
      for (const hertz of [200, 1_000, 5_000]) {
        expect(loudness(new Resampler(rate).push(tone(hertz, rate, 1))), `${hertz} at ${rate}`).toBeCloseTo(0.354, 1);
      }
      for (const hertz of [9_500, 12_000, 15_000]) {
        expect(loudness(new Resampler(rate).push(tone(hertz, rate, 1))), `${hertz} at ${rate}`).toBeLessThan(0.01);
      }
    }
  });

  it("keeps the pitch, from lower rates too", () => {
    for (const rate of [8_000, 16_000, 22_050, 44_100, 48_000]) {
      const out = new Resampler(rate).push(tone(440, rate, 1));
      let crossings = 0;
      for (let at = 1; at < out.length; at += 1) {
        if ((out[at - 1] as number) < 0 && (out[at] as number) >= 0) crossings += 1;
      }
      const seconds = out.length / RATE;
      expect(seconds).toBeGreaterThan(0.99);
      expect(Math.abs(crossings / seconds - 440), `at ${rate}`).toBeLessThan(6);
    }
  });

  it("gives the same in whatever pieces the sound comes", () => {
    const sound = tone(700, 44_100, 0.2);
    const whole = new Resampler(44_100).push(sound);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 600 }), { minLength: 1, maxLength: 30 }), (sizes) => {
        const resampler = new Resampler(44_100);
        const pieces: number[] = [];
        for (let at = 0, n = 0; at < sound.length; n += 1) {
          const size = sizes[n % sizes.length] as number;
          pieces.push(...resampler.push(sound.slice(at, at + size)));
          at += size;
        }
        expect(pieces.length).toBe(whole.length);
        pieces.forEach((sample, at) => {
          expect(Math.abs(sample - (whole[at] as number))).toBeLessThan(1e-3);
        });
      }),
      { numRuns: 20 },
    );
  });
});

describe("portions", () => {
  it("are a tenth of a second of little-endian numbers, and nothing is left out", () => {
    const portions = new Portions();
    const full = portions.push(new Float32Array(PORTION * 2 + 3).fill(-2));
    expect(full.map((portion) => portion.byteLength)).toEqual([3_200, 3_200]);
    expect([...new Uint8Array(full[0] as ArrayBuffer, 0, 2)]).toEqual([0x00, 0x80]);
    expect(portions.rest().byteLength).toBe(6);
    expect(portions.rest().byteLength).toBe(0);
  });

  it("have a level between silence and loud", () => {
    expect(levelOf(new ArrayBuffer(0))).toBe(0);
    expect(levelOf(new ArrayBuffer(3_200))).toBe(0);
    const [loud] = new Portions().push(tone(300, RATE, 0.1).map((sample) => sample * 2));
    expect(levelOf(loud as ArrayBuffer)).toBeGreaterThan(0.9);
  });
});
