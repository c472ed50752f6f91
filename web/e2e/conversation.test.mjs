// A conversation with everything in it: what is said, thought, done, asked and written.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { begin, card, Host, launch, open, say, turnEnds } from "./stage.mjs";

describe("a conversation", () => {
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

  it("shows Markdown with tables and coloured code", async () => {
    await begin(page, host.folder);
    await say(page, "markdown");
    await turnEnds(page);
    await page.locator(".prose table td").first().waitFor();
    await page.locator(".code-block .token-keyword").first().waitFor();
    assert.equal(await page.locator(".composer .stop").count(), 0);
  });

  it("shows a thought that can be opened", async () => {
    await begin(page, host.folder);
    await say(page, "think");
    await turnEnds(page);
    const thought = page.locator(".thought-head").first();
    await thought.click();
    await page.locator(".thought-body").first().waitFor();
  });

  it("allows by a key, denies with a reason and runs what was edited", async () => {
    await begin(page, host.folder);
    await say(page, "bash");
    const first = await card(page);
    assert.match(await first.innerText(), /\.\/lint --deny-all/);
    await first.press("d");
    await page.getByLabel("What the model is told").fill("not today");
    await page.keyboard.press("Enter");
    await page.locator(".question-record.denied", { hasText: "not today" }).waitFor();
    await turnEnds(page);

    await say(page, "bash");
    const second = await card(page);
    await second.press("e");
    await second.getByLabel("Its command").fill("./lint --gently");
    await second.getByRole("button", { name: "Allow as edited" }).click();
    await page.locator(".question-record.allowed").waitFor();
    await turnEnds(page, 2);

    await say(page, "edit");
    const third = await card(page);
    await third.locator(".diff-line.added").first().waitFor();
    await third.press("Enter");
    await page.locator(".tool.modify_file.complete .diff-line.added").first().waitFor();
  });

  it("answers questions and reviews a plan", async () => {
    await begin(page, host.folder);
    await say(page, "question");
    const asked = await card(page);
    await asked.press("1");
    await asked.locator("fieldset").nth(1).locator(".option").first().click();
    await asked.locator("button.primary").click();
    await page.getByText("Friendly").first().waitFor();
    await turnEnds(page);

    await say(page, "plan");
    const plan = await card(page);
    await plan.getByText("Trim the name").waitFor();
    await plan.press("Enter");
    await page.locator(".question-record.allowed", { hasText: "the plan" }).waitFor();
    await turnEnds(page, 2);
    await page.locator("select.mode.acceptEdits").waitFor();
  });

  it("shows a subagent with its own stream, and background work that can be stopped", async () => {
    await begin(page, host.folder);
    await say(page, "subagent");
    await turnEnds(page);
    const agent = page.locator(".tool.subagent_task").first();
    if ((await agent.locator(".tool-head").getAttribute("aria-expanded")) === "false")
      await agent.locator(".tool-head").first().click();
    await agent.locator(".subagent .tool").first().waitFor();

    await say(page, "background");
    await page.getByRole("button", { name: "background work" }).click();
    const task = page.locator(".tasks li", { has: page.getByRole("button", { name: "Stop" }) }).first();
    await task.getByRole("button", { name: "Stop" }).click();
    await page.locator(".tasks li [aria-label=stopped]").first().waitFor();
    await page.locator(".panel").getByRole("button", { name: "Close" }).click();
  });

  it("tells a failed turn with a next step, and tries it again", async () => {
    await begin(page, host.folder);
    await say(page, "error");
    const again = page.getByRole("button", { name: "Try this turn again" });
    await again.waitFor();
    await again.click();
    await page.locator(".user-message").nth(1).waitFor();
  });

  it("stops a turn by Esc and changes the mode by Shift+Tab", async () => {
    await begin(page, host.folder);
    await say(page, "slow");
    await page.locator(".said").first().waitFor();
    await page.getByLabel("Prompt", { exact: true }).press("Escape");
    await page.locator(".turn-end", { hasText: "stopped" }).waitFor();
    await page.getByLabel("Prompt", { exact: true }).press("Shift+Tab");
    await page.locator("select.mode.acceptEdits").waitFor();
    await page.getByLabel("Prompt", { exact: true }).press("Shift+Tab");
    await page.locator("select.mode.plan").waitFor();
  });

  it("completes commands, walks through what was said, keeps a draft and shows pictures", async () => {
    const field = page.getByLabel("Prompt", { exact: true });
    await field.pressSequentially("/mark");
    await page.getByRole("option", { name: /\/markdown/ }).waitFor();
    await field.press("Tab");
    assert.equal(await field.inputValue(), "/markdown ");
    await field.fill("");
    await field.press("ArrowUp");
    assert.equal(await field.inputValue(), "slow");
    await field.fill("a draft that stays");
    await page.reload();
    await page.waitForFunction(() => document.querySelector(".composer-field")?.value === "a draft that stays");
    const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    await page
      .locator("input[type=file]")
      .setInputFiles({ name: "pixel.png", mimeType: "image/png", buffer: Buffer.from(pixel, "base64") });
    await page.getByAltText("pixel.png").waitFor();
    await page.getByRole("button", { name: "Leave out pixel.png" }).click();
  });

  it("queues prompts while a turn runs, and takes them back", async () => {
    await begin(page, host.folder);
    await say(page, "slow");
    await page.locator(".said").first().waitFor();
    const field = page.getByLabel("Prompt", { exact: true });
    await field.fill("think");
    await field.press("Alt+Enter");
    const waiting = page.locator(".queue li", { hasText: "think" });
    await waiting.waitFor();
    await waiting.getByRole("button", { name: "Take back" }).click();
    await waiting.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Stop this turn" }).click();
    await page.locator(".turn-end", { hasText: "stopped" }).waitFor();
  });

  it("shows the files that changed, and puts comments on lines into the prompt", async () => {
    await begin(page, host.folder);
    await say(page, "edit");
    for (let asked = 0; asked < 2; asked += 1) {
      const permission = await card(page);
      const title = await permission.locator(".card-title").innerText();
      await permission.getByRole("button", { name: "Allow" }).click();
      await page.locator(".desk .card-title", { hasText: title }).waitFor({ state: "detached" });
    }
    await turnEnds(page);
    await page.getByRole("button", { name: "files changed" }).click();
    const panel = page.getByRole("complementary", { name: "Changes" });
    await panel.locator(".diff-line.added button.number").first().click();
    await panel.locator(".line-comment textarea").fill("say why");
    await panel.getByRole("button", { name: "Put into the prompt" }).click();
    assert.match(await page.getByLabel("Prompt", { exact: true }).inputValue(), /greeting\.rs:\d+: say why/);
  });

  it("finds actions in the palette and lists the keys", async () => {
    await page.locator(".timeline-scroll").press("Control+k");
    await page.getByRole("combobox", { name: "Go to, or do" }).fill("usage");
    await page.keyboard.press("Enter");
    await page.waitForURL(/settings\/usage/);
    await page.locator(".plot .bar").first().waitFor();
    await page.locator("body").press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    assert.deepEqual(watched.complaints, []);
    assert.deepEqual(watched.outside, []);
  });
});
