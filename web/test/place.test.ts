// Where the page lies.
import { describe, expect, it } from "vitest";
import { baseOf } from "../src/place";

describe("the base path", () => {
  it("is what stands before the page's own files", () => {
    expect(baseOf("http://127.0.0.1:4180/assets/index-abc.js")).toBe("");
    expect(baseOf("https://example.org/jackfield/assets/index-abc.js")).toBe("/jackfield");
    expect(baseOf("https://example.org/tools/jack/assets/index-abc.js?x")).toBe("/tools/jack");
  });

  it("is nothing where the page is not built", () => {
    expect(baseOf("file:///home/me/web/src/place.ts")).toBe("");
  });
});
