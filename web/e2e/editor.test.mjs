// The page as the editor of an interactive `claude`: its changes are decided and its files looked at here.
//
// What connects is a client that says what the CLI says over the same wire; the real one is driven in the tests of
// the IDE server.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import WebSocket from "ws";
import { findings } from "./axe.mjs";
import { FAST, Host, launch, open } from "./stage.mjs";

/** What the CLI is to an editor. */
class Cli {
  #next = 0;
  #waiting = new Map();

  /** Connects by the lock file below a home. */
  static async connect(home) {
    const folder = join(home, ".claude/ide");
    const [name] = readdirSync(folder).filter((each) => each.endsWith(".lock"));
    const { authToken } = JSON.parse(readFileSync(join(folder, name), "utf8"));
    const cli = new Cli();
    cli.socket = new WebSocket(`ws://127.0.0.1:${Number.parseInt(name, 10)}`, "mcp", {
      headers: { "x-claude-code-ide-authorization": authToken },
    });
    await new Promise((resolve, reject) => cli.socket.once("open", resolve).once("error", reject));
    cli.socket.on("message", (data) => {
      const { id, result, error } = JSON.parse(data);
      const waiting = cli.#waiting.get(id);
      if (error) waiting?.reject(new Error(error.message));
      else waiting?.resolve(result);
    });
    await cli.ask("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "claude-code", version: "2.1.325" },
    });
    cli.socket.send(JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }));
    await cli.ask("tools/list", {});
    return cli;
  }

  ask(method, params) {
    const id = (this.#next += 1);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  }

  /** What a tool answers, text by text. */
  async call(name, given) {
    const { content } = await this.ask("tools/call", { name, arguments: given });
    return content.map((part) => part.text);
  }

  /** Proposes a change; the answer comes when it is decided. */
  propose(path, text) {
    return this.call("openDiff", {
      old_file_path: path,
      new_file_path: path,
      new_file_contents: text,
      tab_name: `✻ [Claude Code] ${path} (0a1b2c) ⧉`,
    });
  }
}

describe("the page as an editor", () => {
  const host = new Host({ variables: FAST });
  const file = join(host.folder, "greeting.py");
  let browser;
  let page;
  let watched;
  let cli;
  before(async () => {
    host.flags.push("--ide", host.folder);
    writeFileSync(file, 'def greet(name):\n    return "Hello " + name\n');
    const link = await host.start();
    browser = await launch();
    watched = await open(browser, link);
    page = watched.page;
    await page.getByRole("heading", { name: "Plug in" }).waitFor();
    cli = await Cli.connect(host.home);
  });
  after(async () => {
    cli?.socket.close();
    await browser?.close();
    await host.stop();
  });

  const PROPOSED = 'def greet(name):\n    return f"Hello, {name}!"\n';
  /** The change that waits, opened. */
  async function opened() {
    const entry = page.locator(".editor-list li", { hasText: "greeting.py" }).first();
    await entry.getByText("change").waitFor();
    await entry.getByRole("link").click();
    const card = page.locator(".editor .card[data-answerable=true]");
    await card.locator(".diff-line.added").first().waitFor();
    return card;
  }

  it("shows who is connected, and accepts a change by one key", async () => {
    await page.locator(".editor-list", { hasText: "1 claude" }).waitFor();
    const answer = cli.propose(file, PROPOSED);
    const card = await opened();
    assert.match(await card.locator(".diff-line.removed").innerText(), /return "Hello " \+ name/);
    assert.deepEqual(await findings(page, "editor"), []);
    await page.waitForFunction(() => document.title === "(1) Jackfield");
    await card.press("Enter");
    assert.deepEqual(await answer, ["FILE_SAVED", PROPOSED]);
    await page.locator(".editor .card").waitFor({ state: "detached" });
    await page.waitForFunction(() => document.title === "Jackfield");
  });

  it("accepts what the person made of a change", async () => {
    const answer = cli.propose(file, PROPOSED);
    const card = await opened();
    await card.press("e");
    const text = card.getByLabel("What the file shall contain");
    assert.equal(await text.inputValue(), PROPOSED);
    await text.fill(PROPOSED.replace("Hello", "Good day"));
    await text.press("Escape");
    await card.locator(".diff-line.added", { hasText: "Good day" }).waitFor();
    await card.getByRole("button", { name: "Accept as edited" }).click();
    assert.deepEqual(await answer, ["FILE_SAVED", PROPOSED.replace("Hello", "Good day")]);
  });

  it("rejects a change, and closes one that was decided elsewhere", async () => {
    const rejected = cli.propose(file, PROPOSED);
    await (await opened()).press("d");
    assert.equal((await rejected)[0], "DIFF_REJECTED");

    const other = await open(browser, await host.link());
    const answer = cli.propose(file, PROPOSED);
    await opened();
    await other.page.locator(".editor-list li").first().getByRole("link").click();
    await other.page.locator(".editor .card[data-answerable=true]").press("Enter");
    assert.equal((await answer)[0], "FILE_SAVED");
    await page.locator(".editor .card").waitFor({ state: "detached" });
    await other.context.close();
  });

  it("opens a file that the CLI shows, at what is selected", async () => {
    await page.getByRole("link", { name: "Jackfield" }).click();
    await cli.call("openFile", {
      filePath: file,
      preview: false,
      startText: "return",
      endText: "name",
      makeFrontmost: true,
    });
    await page.getByRole("heading", { name: "greeting.py" }).waitFor();
    await page.locator(".editor .numbered-line.found", { hasText: "return" }).waitFor();
    assert.deepEqual(watched.complaints, []);
  });

  it("goes nowhere by itself when the page is opened later", async () => {
    const later = await open(browser, await host.link());
    await later.page.locator(".editor-list li", { hasText: "greeting.py" }).first().waitFor();
    await later.page.getByRole("heading", { name: "Plug in" }).waitFor();
    await later.context.close();
  });

  it("takes down what nobody waits for any more", async () => {
    const answer = cli.propose(file, PROPOSED).catch(() => "over");
    await opened();
    cli.socket.close();
    await page.locator(".editor .card").waitFor({ state: "detached" });
    assert.ok(answer instanceof Promise);
  });
});
