// The list of sessions and what can be done with one.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { begin, card, chooseFolder, FAST, Host, launch, open, say, turnEnds } from "./stage.mjs";

describe("sessions", () => {
  const host = new Host({ variables: FAST });
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

  it("begins one in a folder, with the trust step for the real agent only", async () => {
    await page.getByRole("button", { name: "New session" }).first().click();
    const dialog = page.getByRole("dialog", { name: "New session" });
    const brought = "This folder brings no hooks";
    await dialog.getByText("Claude Code", { exact: true }).click();
    await chooseFolder(dialog, host.folder);
    await dialog.getByText(brought).waitFor();
    await dialog.getByText("Demo agent", { exact: true }).click();
    assert.equal(await dialog.getByText(brought).count(), 0);
    await page.keyboard.press("Escape");
    await begin(page, host.folder);
    await say(page, "think");
    await turnEnds(page);
    await page.locator(".session-row", { hasText: "think" }).waitFor();
  });

  it("answers a permission right in the list", async () => {
    await begin(page, host.folder);
    await say(page, "bash");
    await card(page);
    await begin(page, host.folder);
    const row = page.locator(".session-list > li", { hasText: "bash" });
    await row.getByText("./lint --deny-all").waitFor();
    await row.locator(".card[data-answerable=true]").waitFor();
    await row.getByRole("button", { name: "Allow" }).click();
    await row.locator(".card").waitFor({ state: "detached" });
    await row.locator(".session-row").click();
    await page.getByText("exit 3").waitFor();
    await page.locator(".question-record.allowed").waitFor();
  });

  it("finds words in all conversations and goes to the place", async () => {
    await page.getByLabel("Search all conversations").fill("lint");
    await page.locator(".session-list mark").first().waitFor();
    await page.locator(".session-list button.session-row").first().click();
    await page.waitForURL(/\/s\/.+\?item=\d+/);
    await page.locator(".row.found").waitFor();
    await page.getByLabel("Search all conversations").fill("");
  });

  it("renames, copies, archives, brings back, exports and deletes", async () => {
    await page.locator(".session-row", { hasText: "think" }).click();
    await turnEnds(page);
    const menu = async (name) => {
      await page.getByRole("button", { name: "More" }).click();
      await page.getByRole("menuitem", { name }).click();
    };
    await menu("Rename …");
    await page.getByLabel("Title").fill("A new name");
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByRole("heading", { name: "A new name" }).waitFor();

    const download = page.waitForEvent("download");
    await menu("Save as Markdown");
    assert.equal((await download).suggestedFilename(), "A-new-name.md");

    await menu("Archive");
    await page.locator(".session-row", { hasText: "A new name" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Archive" }).click();
    await page.locator(".session-row", { hasText: "A new name" }).waitFor();
    await menu("Bring back");
    await page.locator(".session-row", { hasText: "A new name" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Archive" }).click();
    await page.locator(".session-row", { hasText: "A new name" }).waitFor();

    const before = page.url();
    await menu("Begin a copy of it");
    await page.waitForURL((url) => url.href !== before);
    await menu("Delete …");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.waitForURL((url) => url.pathname === "/");
    assert.deepEqual(watched.complaints, []);
    assert.deepEqual(watched.outside, []);
  });
});
