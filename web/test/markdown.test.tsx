// @vitest-environment jsdom
// Markdown of the model: what is hostile is inert, and what grows ends up as what is whole.
import fc from "fast-check";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { type Blocks, NOTHING_READ, readMore, readWhole } from "../src/text/blocks";
import { disguise, followable } from "../src/text/links";
import { Markdown } from "../src/text/markdown";
import { HOSTILE } from "./hostile.mjs";

const drawn = (text: string, growth: "growing" | "finished" = "finished") =>
  renderToStaticMarkup(<Markdown text={text} growth={growth} />);

describe("a hostile document", () => {
  const page = new DOMParser().parseFromString(drawn(HOSTILE), "text/html");

  it("brings no element that loads, runs or sends", () => {
    for (const name of [
      "script",
      "style",
      "iframe",
      "img",
      "svg:not([class*=lucide])",
      "form",
      "link",
      "meta",
      "base",
      "object",
      "embed",
      "video",
      "details",
    ]) {
      expect(page.querySelectorAll(`body ${name}`).length, name).toBe(0);
    }
  });

  it("brings no attribute that runs or loads", () => {
    for (const element of page.querySelectorAll("body *")) {
      for (const { name } of element.attributes) {
        expect(name).not.toMatch(/^on|^src|^style$|^srcdoc$|^action$|^formaction$/);
      }
    }
  });

  it("links only to http, https and mail, in another window that knows nothing of this one", () => {
    const links = [...page.querySelectorAll("a")];
    expect(links.length).toBeGreaterThan(2);
    for (const link of links) {
      expect(link.getAttribute("href")).toMatch(/^(https?|mailto):/);
      expect(link.getAttribute("rel")).toBe("noopener noreferrer");
      expect(link.getAttribute("target")).toBe("_blank");
    }
  });

  it("says where a link leads whose words are another address", () => {
    expect(page.body.textContent).toContain("https://good.example (evil.example)");
    expect(disguise("good.example", "https://good.example/x")).toBeNull();
  });

  it("shows markup as the text it is", () => {
    expect(page.body.textContent).toContain("<script>window.hit('script')</script>");
  });

  it("is as harmless at every moment of its growth", () => {
    for (let length = 0; length < HOSTILE.length; length += 7) {
      const half = drawn(HOSTILE.slice(0, length), "growing");
      expect(half).not.toMatch(/<(script|style|iframe|img|form|link|meta|base)\b/);
      expect(half).not.toMatch(/href="(?!https?:|mailto:)/);
    }
  });
});

describe("addresses", () => {
  it.each([
    "javascript:1",
    " javascript:1",
    "java\nscript:1",
    "data:text/html,x",
    "vbscript:x",
    "file:///x",
    "blob:x",
    "//evil.example",
    "\u0001javascript:1",
  ])("%j is none to follow", (address) => {
    expect(followable(address)).toBeNull();
  });
});

describe("a text that grows", () => {
  const piece = fc.constantFrom(
    "# h\n",
    "para ",
    "**bold",
    "** ",
    "`code` ",
    "\n\n",
    "\n",
    "- item\n",
    "  - deeper\n",
    "1. one\n",
    "```rust\nfn a() {}\n",
    "```\n",
    "| a | b |\n|---|---|\n",
    "| 1 | 2 |\n",
    "> quote\n",
    "---\n",
    "[x](http://a.b) ",
    "~~no~~ ",
    "- [x] done\n",
    "<b>html</b>\n",
    "    indented\n",
  );

  it("is in the end what it would have been at once", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        let read = NOTHING_READ;
        let text = "";
        for (const each of pieces) {
          text += each;
          read = readMore(read, text);
        }
        // The last block may be shown repaired while it grows, and may take the one before it with it while its
        // first line does; all before must stand already.
        const whole = readWhole(text).blocks;
        const settled = read.blocks.slice(0, read.settledBlocks).map((block) => block.node.type);
        expect(settled).toEqual(whole.slice(0, read.settledBlocks).map((block) => block.node.type));
        expect(whole.length - read.settledBlocks).toBeLessThanOrEqual(text.endsWith("\n") ? 1 : 2);
      }),
      {
        numRuns: 300,
        // A rule that becomes part of the list above it.
        examples: [[["1. one\n", "** ", "** ", "# h\n", "# h\n"]]],
      },
    );
  });

  it("is read right one character at a time", () => {
    const text = "1. one\n\n2. two\n\npara\n***\n- a\n- b\n\nA\n===\n\n```\ncode\n```\nend";
    let read = NOTHING_READ;
    for (let length = 1; length <= text.length; length++) read = readMore(read, text.slice(0, length));
    const types = (blocks: Blocks) => blocks.blocks.map((block) => block.node.type);
    expect(types(read)).toEqual(types(readWhole(text)));
  });

  it("reads again only its last block", () => {
    const long = `${"A paragraph.\n\n".repeat(2000)}The end`;
    const before = readMore(NOTHING_READ, long);
    const after = readMore(before, `${long} of it`);
    expect(after.blocks.length).toBe(2001);
    expect(after.blocks.filter((block, at) => block !== before.blocks[at]).length).toBe(1);
  });
});
