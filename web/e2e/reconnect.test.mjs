// What breaks in the middle of a stream: the network, the host, the page. No gap, no double, the draft kept (F30).
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Line } from "./line.mjs";
import { begin, card, conversation, Host, launch, open, say, turnEnds } from "./stage.mjs";

/** So tall that every row of a short session is drawn. */
const TALL = { viewport: { width: 1280, height: 9_000 } };

describe("a stream that breaks", () => {
  const host = new Host();
  let browser;
  let page;
  let complaints;
  before(async () => {
    const link = await host.start();
    browser = await launch();
    ({ page, complaints } = await open(browser, link, TALL));
  });
  after(async () => {
    await browser?.close();
    await host.stop();
  });

  /** What another browser, which saw nothing break, reads in the same session. */
  async function readElsewhere(url) {
    const other = await open(browser, await host.link(), TALL);
    await other.page.locator(".session-row").first().waitFor();
    await other.page.goto(url);
    await other.page.locator(".row").first().waitFor();
    await other.page.locator(".working, .composer .stop").waitFor({ state: "detached" });
    const read = await conversation(other.page);
    await other.context.close();
    return read;
  }

  it("goes on where it was when the network was cut, and sends what was said meanwhile once", async () => {
    const line = new Line(host.address.split(":")[1]);
    const port = await line.open();
    const far = await open(browser, (await host.link()).replace(host.address, `127.0.0.1:${port}`), TALL);
    const url = await begin(far.page, host.folder);
    await say(far.page, "markdown");
    await far.page.locator(".said").first().waitFor();
    line.cut();
    await far.page.getByText("The host is away").waitFor();
    await far.page.getByLabel("Prompt", { exact: true }).fill("think");
    await far.page.getByRole("button", { name: "Send as soon as the host is there" }).click();
    line.mend();
    await far.page.getByText("The host is away").waitFor({ state: "detached" });
    await turnEnds(far.page, 2);
    const here = await conversation(far.page);
    assert.equal(here.filter((text) => text.trim() === "think").length, 1);
    assert.deepEqual(here, await readElsewhere(url.replace(String(port), host.address.split(":")[1])));
    await far.context.close();
    line.close();
  });

  it("loses nothing when the page is reloaded in the middle, and keeps the draft", async () => {
    const url = await begin(page, host.folder);
    await say(page, "markdown");
    await page.locator(".said").first().waitFor();
    await page.getByLabel("Prompt", { exact: true }).fill("not sent yet");
    await page.reload();
    await turnEnds(page);
    assert.equal(await page.getByLabel("Prompt", { exact: true }).inputValue(), "not sent yet");
    assert.deepEqual(await conversation(page), await readElsewhere(url));
  });

  it("loses nothing when the page is killed in the middle and opened again, and keeps the draft", async () => {
    const killed = await open(browser, await host.link(), TALL);
    const url = await begin(killed.page, host.folder);
    await say(killed.page, "markdown");
    await killed.page.locator(".said").first().waitFor();
    await killed.page.getByLabel("Prompt", { exact: true }).fill("not sent yet either");
    // Its process dies without a word to the page.
    await killed.page.goto("chrome://crash").catch(() => undefined);
    await killed.page.close();
    const again = await killed.context.newPage();
    await again.goto(await host.link());
    await again.locator(".session-row").first().waitFor();
    await again.goto(url);
    await turnEnds(again);
    assert.equal(await again.getByLabel("Prompt", { exact: true }).inputValue(), "not sent yet either");
    assert.deepEqual(await conversation(again), await readElsewhere(url));
    await killed.context.close();
  });

  it("says so when the host dies in the middle of a turn, and goes on when it is back", async () => {
    const url = await begin(page, host.folder);
    await say(page, "slow");
    await page.locator(".said").first().waitFor();
    await host.kill();
    await page.getByText("The host is away").waitFor();
    await page.getByLabel("Prompt", { exact: true }).fill("think");
    await page.getByRole("button", { name: "Send as soon as the host is there" }).click();
    await host.start();
    await page.getByText("The host is away").waitFor({ state: "detached" });
    await page.getByText("The host ended while this run was going on").first().waitFor();
    await turnEnds(page);
    const here = await conversation(page);
    assert.equal(
      here.filter((text) => text.trim() === "think").length,
      1,
      "what was said while it was away arrived once",
    );
    assert.deepEqual(here, await readElsewhere(url));
  });

  it("shows two browsers one permission, of which one answer counts and the other is told", async () => {
    const url = await begin(page, host.folder);
    await say(page, "bash");
    await card(page);
    const other = await open(browser, await host.link(), TALL);
    await other.page.locator(".session-row").first().waitFor();
    await other.page.goto(url);
    await card(other.page);
    await Promise.all([page.locator(".desk .card").press("Enter"), other.page.locator(".desk .card").press("Enter")]);
    for (const each of [page, other.page]) {
      await each.locator(".desk .card").waitFor({ state: "detached" });
      await each.locator(".question-record.allowed").waitFor();
      assert.equal(await each.locator(".question-record").count(), 1);
    }
    await turnEnds(page);
    await other.context.close();
  });

  it("closes the card at once when somebody else answers, and says who", async () => {
    const url = await begin(page, host.folder);
    await say(page, "bash");
    await card(page);
    const other = await open(browser, await host.link());
    await other.page.locator(".session-row").first().waitFor();
    await other.page.goto(url);
    await (await card(other.page)).press("Enter");
    await page.locator(".desk .card").waitFor({ state: "detached" });
    await page.locator(".told", { hasText: /Already allowed by Chrome on Linux/ }).waitFor();
    await other.context.close();
    assert.deepEqual(complaints, []);
  });
});
