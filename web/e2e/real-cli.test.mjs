// One conversation with the real CLI, from the page to the file that it writes.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { scriptedApi } from "./api.mjs";
import { cachedClaude, card, chooseFolder, Host, launch, open, say, turnEnds } from "./stage.mjs";

const VERSION = "2.1.325";

function claude() {
  const program = cachedClaude(VERSION);
  if (program === null) throw new Error(`no claude ${VERSION}: run \`cargo xtask setup\``);
  return program;
}

describe("the real CLI", () => {
  let api;
  let host;
  let browser;
  before(async () => {
    api = await scriptedApi();
    host = new Host(withClaude());
    await host.start();
    browser = await launch();
  });
  const withClaude = () => ({
    flags: ["--claude", claude()],
    variables: {
      ANTHROPIC_BASE_URL: api.address,
      ANTHROPIC_API_KEY: "sk-ant-none",
      DISABLE_AUTOUPDATER: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
  });
  after(async () => {
    await browser?.close();
    await host?.stop();
    api?.stop();
  });

  it("answers, asks for permission, runs what was allowed and is told what it cost", async () => {
    const { page, context, complaints, outside } = await open(browser, await host.link());
    await page.getByRole("button", { name: "New session" }).first().click();
    const dialog = page.getByRole("dialog", { name: "New session" });
    await dialog.getByText("Claude Code", { exact: true }).click();
    await chooseFolder(dialog, host.folder);
    await dialog.getByRole("button", { name: "Begin" }).click();
    await page.waitForURL(/\/s\//);
    await say(page, "Are you there?");
    await page.getByText("I am here.").first().waitFor();
    await turnEnds(page);

    await say(page, "make a file");
    const permission = await card(page);
    assert.match(await permission.locator(".command.whole").innerText(), /echo hello > hello\.txt/);
    await permission.press("Enter");
    await page.locator(".said strong", { hasText: "hello.txt" }).waitFor();
    await turnEnds(page, 2);
    assert.equal(readFileSync(join(host.folder, "hello.txt"), "utf8"), "hello\n");
    assert.match(await page.locator(".turn-end").nth(1).innerText(), /\$/);
    assert.deepEqual(complaints, []);
    assert.deepEqual(outside, []);
    await context.close();
  });

  it("runs a folder's own hooks only for whoever was shown them and trusts them", async () => {
    const { page, complaints } = await open(browser, await host.link());
    const folder = join(host.folder, "hooked");
    const mark = join(folder, "hook-ran");
    mkdirSync(join(folder, ".claude"), { recursive: true });
    const hooks = { SessionStart: [{ hooks: [{ type: "command", command: `touch ${mark}` }] }] };
    writeFileSync(join(folder, ".claude/settings.json"), JSON.stringify({ hooks }));
    const begin = async (answer) => {
      const before = page.url();
      await page.getByRole("button", { name: "New session" }).first().click();
      const dialog = page.getByRole("dialog", { name: "New session" });
      await dialog.getByText("Claude Code", { exact: true }).click();
      await chooseFolder(dialog, folder);
      await dialog.locator(".brings .dangerous", { hasText: `touch ${mark}` }).waitFor();
      await dialog.getByText(answer, { exact: true }).click();
      await dialog.getByRole("button", { name: "Begin" }).click();
      await page.waitForURL((url) => url.href !== before && url.pathname.startsWith("/s/"));
      await say(page, "Are you there?");
      await turnEnds(page);
    };
    await begin("Leave it out");
    await page.getByText("not trusted").first().waitFor();
    assert.equal(existsSync(mark), false, "nothing of an untrusted folder ran");
    await begin("I trust this folder");
    assert.equal(existsSync(mark), true, "the hook of a trusted folder ran");
    await page.getByRole("button", { name: "New session" }).first().click();
    await page.getByRole("dialog").getByText("You trust this folder").waitFor();
    assert.deepEqual(complaints, []);
  });

  it("offers the models that the CLI told, and goes on after its run was ended", async () => {
    const { page, context, complaints } = await open(browser, await host.link());
    await page.locator(".session-row", { hasText: "Are you there?" }).first().click();
    await turnEnds(page);
    const offered = () => page.getByLabel("Model").locator("option").allInnerTexts();
    const told = await offered();
    assert.ok(told.length > 2, `${told}`);
    await page.getByRole("button", { name: "New session" }).first().click();
    const dialog = page.getByRole("dialog", { name: "New session" });
    await dialog.getByText("Claude Code", { exact: true }).click();
    const names = await dialog.getByLabel("Model").locator("option").allInnerTexts();
    assert.deepEqual(names, told);
    await page.keyboard.press("Escape");

    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "End its run" }).click();
    await page.getByText("The run ended; the next prompt goes on").first().waitFor();
    const turns = await page.locator(".turn-end").count();
    await say(page, "Still there?");
    await turnEnds(page, turns + 1);
    const last = JSON.stringify(api.asked.findLast((asked) => JSON.stringify(asked).includes("Still there?")));
    assert.ok(last.includes("Are you there?"), "the conversation was resumed");
    assert.deepEqual(complaints, []);
    await context.close();
  });

  it("begins a copy at a message, which knows what was said before it and nothing after", async () => {
    const { page, context, complaints } = await open(browser, await host.link());
    await page.locator(".session-row", { hasText: "Are you there?" }).first().click();
    await turnEnds(page);
    const before = page.url();
    const message = page.locator(".user-message", { hasText: "Still there?" });
    await message.hover();
    await message.getByRole("button", { name: "What can be done from here" }).click();
    await page.getByRole("menuitem", { name: "Begin another session at this point" }).click();
    await page.waitForURL((url) => url.href !== before);
    await page.getByText("I am here.").first().waitFor();
    assert.equal(await page.getByLabel("Prompt", { exact: true }).inputValue(), "Still there?");
    await say(page, "And in the copy?");
    const asks = () => api.asked.findLast((asked) => JSON.stringify(asked).includes("And in the copy?"));
    for (const end = Date.now() + 60_000; asks() === undefined && Date.now() < end; )
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    const last = JSON.stringify(asks());
    assert.ok(last.includes("Are you there?"), "it knows what was said before");
    assert.ok(!last.includes("Still there?"), "it knows nothing of what was said after");
    assert.deepEqual(complaints, []);
    await context.close();
  });

  it("takes in a conversation of the CLI’s own history, and goes on with it", async () => {
    // Another host of the same person: it has no sessions, but finds what the CLI wrote down. The first one must let
    // go of the conversation before.
    await host.end();
    const other = new Host({ ...withClaude(), home: host.home });
    const { page, context, complaints } = await open(browser, await other.start());
    await page.getByRole("heading", { name: "Plug in" }).waitFor();
    await page.getByRole("button", { name: "History" }).click();
    const dialog = page.getByRole("dialog", { name: "Earlier conversations" });
    await dialog.getByLabel("Filter").fill("are you");
    await dialog.locator(".history .option", { hasText: "Are you there?" }).first().click();
    await dialog.getByRole("button", { name: "Take in 1 conversation" }).click();
    await page.locator(".said", { hasText: "I am here." }).first().waitFor();
    await page.getByRole("button", { name: "History" }).click();
    await dialog.getByText("already here").first().waitFor();
    await page.keyboard.press("Escape");

    const turns = await page.locator(".turn-end").count();
    await say(page, "What did I ask first?");
    await turnEnds(page, turns + 1);
    const last = JSON.stringify(api.asked.findLast((asked) => JSON.stringify(asked).includes("What did I ask first?")));
    assert.ok(last.includes("Are you there?"), "the conversation goes on");
    assert.deepEqual(complaints, []);
    await context.close();
    await other.end();
  });
});
