// What is done now and then: going back, copying, rules, decisions, history, appearance.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { begin, card, Host, launch, open, say, turnEnds } from "./stage.mjs";

describe("now and then", () => {
  const host = new Host();
  let browser;
  let page;
  let complaints;
  before(async () => {
    const link = await host.start();
    browser = await launch();
    ({ page, complaints } = await open(browser, link));
  });
  after(async () => {
    await browser?.close();
    await host.stop();
  });

  it("goes back to a prompt with a look at what would change, by two Escs", async () => {
    const session = await begin(page, host.folder);
    await say(page, "think");
    await turnEnds(page);
    const field = page.getByLabel("Prompt", { exact: true });
    await field.press("Escape");
    await field.press("Escape");
    const dialog = page.getByRole("dialog", { name: "Rewind to this prompt" });
    await dialog.getByText("think").waitFor();
    await dialog.getByText("Only the conversation").click();
    await dialog.getByText("No file is changed").waitFor();
    await dialog.getByRole("button", { name: "Rewind" }).click();
    await dialog.waitFor({ state: "detached" });
    // The conversation goes on in a copy that ends before the prompt, with the prompt to be said differently.
    await page.waitForURL((url) => url.href !== session);
    await page.waitForFunction(() => document.querySelector(".composer-field")?.value === "think");
    assert.equal(await page.locator(".user-message").count(), 0);
    await field.fill("");
  });

  it("begins another session before a prompt, or after a turn", async () => {
    await begin(page, host.folder);
    await say(page, "think");
    await turnEnds(page);
    await say(page, "todo");
    await turnEnds(page, 2);
    const before = page.url();
    await page.locator(".user-message").nth(1).hover();
    await page.locator(".user-message").nth(1).getByRole("button").click();
    await page.getByRole("menuitem", { name: "Begin another session at this point" }).click();
    await page.waitForURL((url) => url.href !== before);
    await page.waitForFunction(() => document.querySelector(".composer-field")?.value === "todo");
    await page.locator(".user-message", { hasText: "think" }).waitFor();
    assert.equal(await page.locator(".user-message").count(), 1);
    await page.getByLabel("Prompt", { exact: true }).fill("");

    await page.goto(before);
    await turnEnds(page, 2);
    await page.locator(".turn-end").first().hover();
    await page.locator(".turn-end").first().getByRole("button", { name: "Begin another session after" }).click();
    await page.waitForURL((url) => url.href !== before);
    await page.locator(".user-message", { hasText: "think" }).waitFor();
    assert.equal(await page.locator(".user-message").count(), 1);
  });

  it("changes and moves what waits", async () => {
    await begin(page, host.folder);
    await say(page, "slow");
    await page.locator(".said").first().waitFor();
    const field = page.getByLabel("Prompt", { exact: true });
    for (const words of ["first", "second"]) {
      await field.fill(words);
      await field.press("Alt+Enter");
      await page.locator(".queue li", { hasText: words }).waitFor();
    }
    await page.locator(".queue li", { hasText: "second" }).getByRole("button", { name: "Move up" }).click();
    await page.waitForFunction(() => document.querySelector(".queue li")?.innerText.includes("second"));
    await page.locator(".queue li", { hasText: "first" }).getByRole("button", { name: "Change" }).click();
    await page.getByLabel("The prompt that waits").fill("think");
    await page.getByLabel("The prompt that waits").press("Enter");
    await page.locator(".queue li", { hasText: "think" }).waitFor();
    for (let left = 2; left > 0; left -= 1) {
      await page.locator(".queue li").first().getByRole("button", { name: "Take back" }).click();
      await page.waitForFunction((count) => document.querySelectorAll(".queue li").length < count, left);
    }
    await field.press("Escape");
    await page.locator(".turn-end", { hasText: "stopped" }).waitFor();
  });

  it("lets a rule answer, tries rules on the past, and keeps every decision", async () => {
    await begin(page, host.folder);
    await say(page, "bash");
    await (await card(page)).press("Enter");
    await turnEnds(page);
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByRole("button", { name: "Rules" }).click();
    await page.getByRole("button", { name: "A rule" }).click();
    await page.getByLabel("what happens").selectOption("deny");
    await page.getByLabel("command", { exact: true }).fill("./lint*");
    await page.getByLabel("why").fill("lint is not for today");
    await page.getByRole("button", { name: "Try them" }).click();
    await page.locator(".tried li", { hasText: "deny" }).first().waitFor();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "Saved" }).waitFor();

    await begin(page, host.folder);
    await say(page, "bash");
    await page.locator(".question-record.denied", { hasText: "lint is not for today" }).waitFor();
    await turnEnds(page);

    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByRole("button", { name: "Audit" }).click();
    await page.locator(".decisions .tag.denied").first().waitFor();
    await page.locator(".decisions .tag.allowed").first().waitFor();
    assert.match(await page.locator(".decisions").innerText(), /Chrome on Linux/);
  });

  it("says that there is no history where there is none", async () => {
    await page.getByRole("button", { name: "History" }).click();
    await page.getByRole("dialog", { name: "Earlier conversations" }).getByText("There are none").waitFor();
    await page.keyboard.press("Escape");
  });

  it("looks as it was told to, also after a reload", async () => {
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByRole("button", { name: "General" }).click();
    await page.getByLabel("Appearance").selectOption("dark");
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await paper();
    await page.reload();
    await page.getByLabel("Appearance").waitFor();
    assert.equal(await paper(), dark);
    await page.getByLabel("Appearance").selectOption("light");
    assert.notEqual(await paper(), dark);
    assert.deepEqual(complaints, []);
  });

  it("can be installed, and opens honestly without its host", async () => {
    const manifest = await page.evaluate(async () => (await fetch("/manifest.webmanifest")).json());
    assert.equal(manifest.display, "standalone");
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    await page.reload();
    await page.getByLabel("Appearance").waitFor();
    await host.kill();
    await page.goto(new URL("/", page.url()).href);
    await page.getByText("The host is away").waitFor();
    await host.start();
    await page.getByText("The host is away").waitFor({ state: "detached" });
  });
});
