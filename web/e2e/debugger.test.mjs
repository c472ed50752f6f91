// The debugger: what came from the agent and went to it, beside what was made of it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { begin, FAST, Host, launch, open, program, say, turnEnds } from "./stage.mjs";

describe("the debugger", () => {
  const host = new Host({ variables: FAST });
  let browser;
  let page;
  let watched;
  let panel;
  before(async () => {
    const link = await host.start();
    browser = await launch();
    watched = await open(browser, link);
    page = watched.page;
    await begin(page, host.folder);
    await say(page, "think");
    await turnEnds(page);
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Debugger" }).click();
    panel = page.getByRole("complementary", { name: "Debugger" });
  });
  after(async () => {
    await browser?.close();
    await host.stop();
  });

  it("shows a line, and below it the events that were made of it", async () => {
    await panel.getByLabel("Filter").fill("complete");
    const result = panel.locator(".feed-row.line-of", { hasText: "result success" });
    await result.waitFor();
    await panel.locator(".feed-row.event.of-line", { hasText: "complete" }).last().waitFor();
    await result.getByRole("button").click();
    assert.match(await result.locator(".json").innerText(), /"total_cost_usd"/);
    await panel.getByLabel("Filter").fill("");
  });

  it("follows what comes, filters by words and by direction", async () => {
    await say(page, "todo");
    await turnEnds(page, 2);
    const kind = (name) => panel.getByRole("button", { name, exact: true });
    await kind("events").click();
    await kind("from the agent").click();
    const [event, from, to] = ["event", "line-of.from_cli", "line-of.to_cli"].map((name) =>
      panel.locator(`.feed-row.${name}`),
    );
    await to.filter({ hasText: '"todo"' }).waitFor();
    assert.deepEqual([await event.count(), await from.count()], [0, 0]);
    await kind("to the agent").click();
    await kind("events").click();
    await panel.getByLabel("Filter").fill("in_progress");
    await event.filter({ hasText: "todos" }).first().waitFor();
    assert.deepEqual([await from.count(), await to.count()], [0, 0]);
    await kind("from the agent").click();
    await kind("to the agent").click();
    await panel.getByLabel("Filter").fill("");
  });

  it("saves events, and lines that `jackfield replay` makes the same events of", async () => {
    const save = async (name) => {
      const download = page.waitForEvent("download");
      await panel.getByRole("button", { name: "Save" }).click();
      await page.getByRole("menuitem", { name }).click();
      const file = await download;
      const place = join(host.home, file.suggestedFilename());
      await file.saveAs(place);
      return place;
    };
    const events = readFileSync(await save(/^Events/), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      events.map((event) => event.seq),
      events.map((_, at) => at + 1),
    );
    const journal = await save(/journal/);
    const replayed = execFileSync(program(), ["replay", "--format", "json", journal], { encoding: "utf8" })
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).type);
    // A journal of lines says nothing of the process itself.
    const ofLines = (type) => !/^(run_|stderr|notice)/.test(type);
    assert.deepEqual(replayed.filter(ofLines), events.map((event) => event.type).filter(ofLines));
    assert.deepEqual(watched.complaints, []);
  });

  it("is for those who may do everything", async () => {
    await page.goto(new URL("/settings/devices", page.url()).href);
    await page.getByLabel("What it may do").selectOption("answer");
    await page.getByRole("button", { name: "Make a link" }).click();
    const link = await page.locator(".link code").innerText();
    const other = await open(browser, link);
    await other.page.locator(".session-row").first().click();
    await other.page.getByRole("button", { name: "More" }).click();
    await other.page.getByRole("menuitem", { name: "Debugger" }).click();
    await other.page.getByText("The agent’s own lines cannot be shown").waitFor();
    await other.page.locator(".feed-row.event").first().waitFor();
    assert.equal(await other.page.locator(".feed-row.line-of").count(), 0);
    await other.context.close();
  });
});
