// Where an answer may be kept, by what the login may do.
import { describe, expect, it } from "vitest";
import type { Destination, Remember } from "../src/contract";
import { DESTINATIONS, isPermitted } from "../src/views/desk/remember";

const offer = (destination: Destination): Remember => ({
  type: "add_rules",
  rules: [{ tool_name: "Bash", rule_content: "ls *" }],
  behavior: "allow",
  destination,
});
const places = (scope: "view" | "answer" | "admin" | null, ...offered: Destination[]) =>
  DESTINATIONS.map(([each]) => each).filter((each) => isPermitted(each, offered.map(offer), scope));

describe("where an answer may be kept", () => {
  it("is anywhere for whoever may do everything", () => {
    expect(places("admin", "session")).toEqual(["session", "local_settings", "project_settings", "user_settings"]);
  });

  it("is the session, and where the CLI offers it, for whoever may only answer", () => {
    expect(places("answer", "local_settings")).toEqual(["session", "local_settings"]);
    expect(places("answer", "session")).toEqual(["session"]);
    // What is offered for different places can be kept together only in the session.
    expect(places("answer", "local_settings", "user_settings")).toEqual(["session"]);
    expect(places(null, "project_settings")).toEqual(["session", "project_settings"]);
  });
});
