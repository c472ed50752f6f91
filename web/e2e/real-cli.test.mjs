// One conversation with the real CLI, from the page to the file that it writes.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { scriptedApi } from "./api.mjs";
import { card, Host, launch, open, say, turnEnds } from "./stage.mjs";

const VERSION = "2.1.325";

function claude() {
  const cache = process.env.JACKFIELD_CACHE ?? new URL("../../.cache", import.meta.url).pathname;
  const program = join(cache, "claude", VERSION, "claude");
  if (!existsSync(program)) throw new Error(`no claude ${VERSION}: run \`cargo xtask setup\``);
  return program;
}

describe("the real CLI", () => {
  let api;
  let host;
  let browser;
  before(async () => {
    api = await scriptedApi();
    host = new Host({
      flags: ["--claude", claude()],
      variables: {
        ANTHROPIC_BASE_URL: api.address,
        ANTHROPIC_API_KEY: "sk-ant-none",
        DISABLE_AUTOUPDATER: "1",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      },
    });
    await host.start();
    browser = await launch();
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
    await dialog.getByLabel("Folder", { exact: true }).fill(host.folder);
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
      await dialog.getByLabel("Folder", { exact: true }).fill(folder);
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
});
