// Texts that people must be able to trust: terminals, hidden characters, diffs.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plain, spans } from "../src/text/ansi";
import { compare, counted, readDiff } from "../src/text/diff";
import { pieces } from "../src/text/suspicious";

const ESC = "\u001b";

describe("a terminal's output", () => {
  it("keeps colours as class names", () => {
    expect(spans(`${ESC}[1;31mred${ESC}[0m plain`)).toEqual([
      { text: "red", classes: "ansi-bold ansi-1", color: null, background: null },
      { text: " plain", classes: "", color: null, background: null },
    ]);
    expect(spans(`${ESC}[38;5;208mx${ESC}[48;2;1;2;3my`).map(({ color, background }) => [color, background])).toEqual([
      ["rgb(255 135 0)", null],
      ["rgb(255 135 0)", "rgb(1 2 3)"],
    ]);
  });

  it.each([
    ["a clipboard write", `a${ESC}]52;c;aGk=\u0007b`],
    ["a clipboard write that never ends", `ab${ESC}]52;c;aGk=`],
    ["a link", `${ESC}]8;;javascript:alert(1)${ESC}\\ab${ESC}]8;;${ESC}\\`],
    ["a title", `${ESC}]0;title\u0007ab`],
    ["a device string", `a${ESC}P1$r0m${ESC}\\b`],
    ["cursor movement and erasing", `a${ESC}[2J${ESC}[1;1H${ESC}[?25lb`],
    ["single-byte sequences", "a\u009b31mb\u009d0;x\u009c"],
    ["bells and nulls", "a\u0007\u0000b"],
  ])("drops %s", (_, output) => {
    expect(plain(output)).toBe("ab");
  });

  it("begins a line anew at a carriage return", () => {
    expect(plain("done\n10 %\r50 %\r100 %\nend")).toBe("done\n100 %\nend");
    expect(plain("a\r\nb")).toBe("a\nb");
  });

  it("leaves no control character, whatever comes", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(ESC, "[", "]", "m", "3", ";", "\u0007", "\\", "x", "\r", "\n", "P", "\u009b"), {
          maxLength: 60,
        }),
        (parts) => {
          expect(plain(parts.join(""))).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f]/);
        },
      ),
    );
  });
});

describe("a text that is approved", () => {
  it("shows what would not be seen", () => {
    const hidden = pieces("rm \u202e-rf\u2066 \u200b/").filter((piece) => piece.hidden !== null);
    expect(hidden.map((piece) => piece.hidden)).toEqual(["U+202E", "U+2066", "U+200B"]);
  });

  it("is never changed by that", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        expect(
          pieces(text)
            .map((piece) => piece.text)
            .join(""),
        ).toBe(text);
      }),
    );
  });

  it("keeps a command of 100,000 characters whole", () => {
    const command = `echo ${"x".repeat(100_000)} && rm -rf /`;
    expect(
      pieces(command)
        .map((piece) => piece.text)
        .join(""),
    ).toBe(command);
  });
});

describe("a diff", () => {
  const lineText = fc
    .array(fc.constantFrom("a", "b", "c", "-", "+", "@@ ", ""), { maxLength: 4 })
    .map((parts) => parts.join(""));
  const text = fc.array(lineText, { minLength: 1, maxLength: 12 }).map((lines) => `${lines.join("\n")}\n`);

  it("made from two texts says both of them exactly", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        fc.pre(before !== after);
        const lines = compare(before, after, 1_000_000);
        const side = (kind: "removed" | "added") =>
          lines
            .filter((line) => line.kind === "same" || line.kind === kind)
            .map((line) => `${line.text}\n`)
            .join("");
        expect(side("removed")).toBe(before);
        expect(side("added")).toBe(after);
      }),
    );
  });

  it("numbers its lines and counts them", () => {
    const lines = readDiff("--- a\n+++ b\n@@ -3,2 +3,3 @@ fn\n same\n-old\n+new\n+more\n");
    expect(lines.map(({ kind, old, new: next }) => [kind, old, next])).toEqual([
      ["hunk", null, null],
      ["same", 3, 3],
      ["removed", 4, null],
      ["added", null, 4],
      ["added", null, 5],
    ]);
    expect(counted(lines)).toEqual({ added: 2, removed: 1 });
  });

  it("marks what changed inside a line that was replaced", () => {
    const [, removed, added] = readDiff("@@ -1 +1 @@\n-let a = 1;\n+let a = 23;\n");
    expect(removed?.changed).toEqual([8, 9]);
    expect(added?.changed).toEqual([8, 10]);
  });
});
