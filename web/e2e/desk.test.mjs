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

  it("offers a login that may only answer the places that it may use", async () => {
    const session = await begin(page, host.folder);
    await page.goto(new URL("/settings/devices", session).href);
    await page.getByRole("button", { name: "Make a link" }).click();
    await page.getByRole("img", { name: "QR code" }).waitFor();
    const other = await open(browser, await page.locator(".link code").innerText());
    await other.page.locator(".session-row").first().waitFor();
    await page.goto(session);
    await say(page, "bash");
    await card(page);
    await other.page.goto(session);
    const asked = await card(other.page);
    const where = asked.getByLabel("Where it is kept");
    // The demo's offers are for the session; elsewhere the host would refuse to keep them for such a login.
    assert.deepEqual(await where.locator("option").allInnerTexts(), ["for this session"]);
    await asked.press("a");
    await asked.getByRole("button", { name: "Allow and remember" }).click();
    await turnEnds(page);
    assert.ok((await written()).some((line) => line.includes('"destination":"session"')));
    await other.context.close();
  });

  it("S19 shows everybody what was allowed in the place of what was asked", async () => {
    const session = await begin(page, host.folder);
    const other = await open(browser, await host.link());
    await other.page.locator(".session-row").first().waitFor();
    await other.page.goto(session);
    await say(page, "bash");
    const asked = await card(page);
    await asked.press("e");
    await asked.getByLabel("Its command").fill("./lint --gently");
    await asked.getByRole("button", { name: "Allow as edited" }).click();
    await turnEnds(page);
    for (const each of [page, other.page]) {
      const record = each.locator(".changed-question", { hasText: "Allowed with changes" });
      await record.locator(".diff-line.removed", { hasText: "./lint --deny-all" }).waitFor();
      await record.locator(".diff-line.added", { hasText: "./lint --gently" }).waitFor();
      await each.locator(".tool.shell_exec .command", { hasText: "./lint --gently" }).waitFor();
      assert.equal(await each.locator(".tool.shell_exec", { hasText: "--deny-all" }).count(), 0);
    }
    // It is kept: after a reload it is there again.
    await page.reload();
    await page.locator(".changed-question .diff-line.added", { hasText: "./lint --gently" }).waitFor();

    // A change of a file is edited as the text that it is.
    await say(page, "edit");
    const edit = await card(page);
    await edit.press("e");
    await edit.getByLabel("What is put there").fill('    format!("Moin {name}")\n');
    await edit.getByRole("button", { name: "Allow as edited" }).click();
    await page.locator(".changed-question .diff-line.added", { hasText: "Moin" }).waitFor();
    await other.context.close();
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
