// A plan in pieces, and comments on them as the model is told them.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { piecesOf, wordsOf } from "../src/views/desk/plan-pieces";

const PLAN = `# A better greeting

1. Trim the name.
2. End with an exclamation mark,
   on the same line.

- [ ] test both

\`\`\`rust
fn main() {}

\`\`\`

**Risk:** none.
`;

describe("a plan", () => {
  it("comes in pieces: paragraphs, headings, code, each point of a list", () => {
    expect(piecesOf(PLAN).map(({ line, text }) => [line, text.split("\n")[0]])).toEqual([
      [1, "# A better greeting"],
      [3, "1. Trim the name."],
      [4, "2. End with an exclamation mark,"],
      [7, "- [ ] test both"],
      [9, "```rust"],
      [14, "**Risk:** none."],
    ]);
  });

  it("is whole in its pieces, whatever it is", () => {
    const parts = fc.constantFrom(
      "# h",
      "- a",
      "  - b",
      "1. c",
      "text",
      "",
      "```",
      "> q",
      "| a |",
      "---",
      "***",
      "<b>",
    );
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 20 }), (lines) => {
        const plan = lines.join("\n");
        const letters = (text: string) => text.replace(/\s/g, "");
        expect(
          letters(
            piecesOf(plan)
              .map((piece) => piece.text)
              .join(""),
          ),
        ).toBe(letters(plan));
      }),
    );
  });

  it("is sent back with each comment beside what it is about", () => {
    const comments = new Map([
      [4, " use two "],
      [7, "  "],
    ]);
    expect(wordsOf(piecesOf(PLAN), comments, "and be quick")).toBe(
      "Comments on the plan:\n- line 4 (“End with an exclamation mark,”): use two\n\nand be quick",
    );
    expect(wordsOf(piecesOf(PLAN), new Map(), " ")).toBe("");
  });
});
