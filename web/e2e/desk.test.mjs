// The desk: what is remembered and where, plans with comments, questions in one's own words, what waits in the list.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { begin, card, Host, launch, open, say, turnEnds } from "./stage.mjs";

describe("the desk", () => {
  const host = new Host();
  let browser;
  let page;
  let watched;
  before(async () => {
    const link = await host.start();
    browser = await launch();
    watched = await open(browser, link);
    page = watched.page;
  });
  after(async () => {
    await browser?.close();
    await host.stop();
  });

  /** What was written to the agent, newest last. */
  async function written() {
    const session = new URL(page.url()).pathname.split("/").at(-1);
    return page.evaluate(async (id) => {
      const headers = { "x-jackfield-key": sessionStorage.getItem("jackfield.key") };
      const { lines } = await (await fetch(`/api/sessions/${id}/lines`, { headers })).json();
      return lines.filter((line) => line.direction === "to_cli").map((line) => line.text);
    }, session);
  }

  it("remembers an answer where the person says, in the words of the CLI’s own dialog", async () => {
    await begin(page, host.folder);
    await say(page, "bash");
    const asked = await card(page);
    const where = asked.getByLabel("Where it is kept");
    assert.deepEqual(await where.locator("option").allInnerTexts(), [
      "for this session",
      "for this project (just you)",
      "for this project (shared)",
      "for all projects",
    ]);
    await where.selectOption({ label: "for this project (just you)" });
    await asked.getByRole("button", { name: "Allow and remember" }).click();
    await turnEnds(page);
    const answer = (await written()).find((line) => line.includes("updatedPermissions"));
    assert.match(answer, /"destination":"localSettings"/);
    assert.match(answer, /lint \*/);
  });

  it("sends a plan back with comments on its lines", async () => {
    await begin(page, host.folder);
    await say(page, "plan");
    const plan = await card(page);
    await plan.getByRole("button", { name: "Comment on line 4" }).click();
    await plan.getByRole("textbox", { name: "Comment on line 4" }).fill("with a full stop instead");
    await plan.getByRole("button", { name: "Send back with 1 comment" }).click();
    await page.locator(".question-record.denied", { hasText: "with a full stop instead" }).waitFor();
    const answer = (await written()).find((line) => line.includes("with a full stop instead"));
    assert.match(answer, /line 4 \(“End with an exclamation mark\.”\)/);
    assert.match(answer, /"behavior":"deny"/);
  });

  it("accepts a plan, and says the comments right after", async () => {
    await begin(page, host.folder);
    await say(page, "plan");
    const plan = await card(page);
    await plan.getByRole("button", { name: "Comment on line 3" }).click();
    await plan.getByRole("textbox", { name: "Comment on line 3" }).fill("think of tabs too");
    await plan.getByRole("button", { name: "Accept, ask before edits" }).click();
    await page.locator(".question-record.allowed", { hasText: "the plan" }).waitFor();
    await page
      .locator(".user-message", { hasText: "think of tabs too" })
      .or(page.locator(".queue li"))
      .first()
      .waitFor();
    assert.ok((await written()).some((line) => line.includes("think of tabs too") && line.includes('"type":"user"')));
    await page.locator("select.mode.default").waitFor();
  });

  it("takes words of one’s own for an answer", async () => {
    await begin(page, host.folder);
    await say(page, "question");
    const asked = await card(page);
    await asked.locator("input.own").first().fill("Like a pirate");
    await asked.locator("fieldset").nth(1).locator(".option").first().click();
    await asked.locator("button.primary").click();
    await page.getByText("Like a pirate").first().waitFor();
    await turnEnds(page);
  });

  it("fills in the form of an MCP server", async () => {
    await begin(page, host.folder);
    await say(page, "mcp");
    const form = await card(page);
    await form.getByLabel("Place").fill("Rome");
    await form.getByRole("button", { name: "Send" }).click();
    await page.locator(".desk .card.asks-tool[data-answerable=true]").waitFor();
    await page.locator(".desk .card").press("Enter");
    await page.locator(".said", { hasText: "In Rome it is" }).waitFor();
  });

  it("does nothing for a key that was meant for something else", async () => {
    await begin(page, host.folder);
    const field = page.getByLabel("Prompt", { exact: true });
    await say(page, "bash");
    await field.fill("I am writing");
    const asked = await card(page);
    await field.press("a");
    assert.equal(await field.inputValue(), "I am writinga");
    assert.equal(await asked.locator("input[type=checkbox]").isChecked(), false);
    await field.fill("");
    await asked.press("a");
    assert.equal(await asked.locator("input[type=checkbox]").isChecked(), true);
    await asked.press("d");
    await page.keyboard.press("Escape");
    await asked.press("Enter");
    await turnEnds(page);
    assert.deepEqual(watched.complaints, []);
  });
});
