// Every kind of tool has a card of its own, and what goes wrong is told in words with a next step.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { begin, card, Host, launch, open, say, turnEnds } from "./stage.mjs";

describe("what is done", () => {
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

  /** Plays a scene to its end; whatever asks is allowed. */
  async function play(scene) {
    await begin(page, host.folder);
    await say(page, scene);
    const end = page.locator(".turn-end").first();
    for (;;) {
      const asked = page.locator(".desk .card[data-answerable=true]").first();
      await asked.or(end).first().waitFor({ timeout: 60_000 });
      if (await end.isVisible()) return;
      const title = await asked.locator(".card-title").innerText();
      await asked.press("Enter");
      await page.locator(".desk .card-title", { hasText: title }).waitFor({ state: "detached" });
    }
  }

  /** A card, opened. */
  async function opened(kind, at = 0) {
    const tool = page.locator(`.tool.${kind}`).nth(at);
    const head = tool.locator("> .tool-head");
    if ((await head.getAttribute("aria-expanded")) === "false") await head.click();
    await tool.locator("> .tool-body").waitFor();
    return tool;
  }

  it("reads a file with the numbers of its lines, and says when there is none", async () => {
    await play("read");
    const read = await opened("read_file");
    assert.equal(await read.locator(".numbered-line").first().getAttribute("data-line"), "1");
    await read.locator(".token-keyword").first().waitFor();
    await page.locator(".tool.read_file.error", { hasText: "File does not exist" }).waitFor();
  });

  it("runs commands in their colours, with the exit code", async () => {
    await play("bash");
    await page.locator(".tool.shell_exec .terminal [class*=ansi], .tool.shell_exec .terminal span").first().waitFor();
    await page.locator(".tool.shell_exec .tag.bad", { hasText: "exit 3" }).waitFor();
  });

  it("shows what a search found, what the web said, a list of things to do, and a picture", async () => {
    await play("search");
    assert.match(await (await opened("code_search")).innerText(), /greeting\.rs/);
    await play("web");
    await opened("http_request");
    assert.match(await (await opened("http_request", 1)).innerText(), /example\.org/);
    await play("todo");
    const todos = await opened("manage_todos", 3);
    assert.equal(await todos.locator(".todos li.completed").count(), 3);
    await play("image");
    await (await opened("read_file")).locator("img").waitFor();
  });

  it("shows any other tool as what went in and what came out", async () => {
    await begin(page, host.folder);
    await say(page, "mcp");
    await (await card(page)).getByRole("button", { name: "Send" }).click();
    await page.locator(".desk .card.asks-tool[data-answerable=true]").press("Enter");
    await turnEnds(page);
    assert.match(await (await opened("generic")).innerText(), /Atlantis|Rome|place/);
  });

  it("tells of retries, limits and summaries as they come", async () => {
    await begin(page, host.folder);
    await say(page, "retry");
    await page.locator(".line.warning", { hasText: /trying again, 1 of/ }).waitFor();
    await turnEnds(page);
    await say(page, "limit");
    await page.locator(".limit .line", { hasText: "limit is near" }).waitFor();
    await turnEnds(page, 2);
    await say(page, "compact");
    await page.locator(".line.info", { hasText: "was summarised" }).waitFor();
    await turnEnds(page, 3);
    await page.getByRole("img", { name: /The context is \d+ % full/ }).waitFor();
    assert.match(await page.locator(".session-head").innerText(), /\$\d/);
  });

  it("says that a run crashed, what it wrote last, and goes on", async () => {
    await begin(page, host.folder);
    await say(page, "crash");
    await page.locator(".line", { hasText: "exit code 1" }).waitFor();
    await page.getByRole("button", { name: "Try this turn again" }).waitFor();
    await say(page, "think");
    await turnEnds(page);
    await page.locator(".said", { hasText: "Welcome back" }).waitFor();
  });

  it("copies code and texts", async () => {
    await watched.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await play("markdown");
    const block = page.locator(".code-block").first();
    await block.getByRole("button", { name: "Copy" }).click();
    await block.getByRole("button", { name: "Copied" }).waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(copied.trim(), (await block.locator("pre").innerText()).trim());
  });

  it("marks what is new since one was here, in the list and in the conversation", async () => {
    const url = await begin(page, host.folder);
    await say(page, "slow");
    await page.locator(".said").first().waitFor();
    await begin(page, host.folder);
    const other = await open(browser, await host.link());
    await other.page.locator(".session-row").first().waitFor();
    await other.page.goto(url);
    await other.page.getByRole("button", { name: "Stop this turn" }).click();
    await other.page.locator(".turn-end").waitFor();
    await say(other.page, "todo");
    await other.page.locator(".turn-end").nth(1).waitFor();
    await other.context.close();
    const row = page.locator(".session-list > li.unread", { hasText: "slow" });
    await row.waitFor();
    await row.locator(".session-row").click();
    await page.getByText("New since you were here").waitFor();
    await page.locator(".session-list > li.unread", { hasText: "slow" }).waitFor({ state: "detached" });
    assert.deepEqual(watched.complaints, []);
  });
});
