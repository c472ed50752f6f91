// The page over plain HTTP under a name that is not loopback, as behind somebody's own network: everything works but
// what browsers keep for trustworthy places, and the page says so.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { freePort } from "./proxy.mjs";
import { begin, card, FAST, Host, launch, open, say, turnEnds } from "./stage.mjs";

describe("over plain HTTP", () => {
  let host;
  let browser;
  let link;
  before(async () => {
    const port = await freePort();
    host = new Host({ variables: FAST, flags: ["--set", `server.names=http://jackfield.test:${port}`] });
    host.address = `127.0.0.1:${port}`;
    link = await host.start();
    browser = await launch(["--host-resolver-rules=MAP jackfield.test 127.0.0.1"]);
  });
  after(async () => {
    await browser?.close();
    await host?.stop();
  });

  it("says that it can be installed only on the machine itself, and works all the same", async () => {
    assert.equal(new URL(link).hostname, "jackfield.test");
    const { page, complaints } = await open(browser, link);
    assert.equal(await page.evaluate(() => isSecureContext), false);
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByText("Over plain HTTP a page can be installed only on the machine itself").waitFor();
    assert.equal(await page.getByText("can be installed as an app").count(), 0);
    assert.equal(await page.evaluate(() => "serviceWorker" in navigator), false);

    await begin(page, host.folder);
    await say(page, "bash");
    await (await card(page)).press("Enter");
    await turnEnds(page);
    await say(page, "markdown");
    await turnEnds(page, 2);
    // There is no clipboard of the newer kind for such a page.
    await page.locator(".code-block").first().getByRole("button", { name: "Copy" }).click();
    await page.locator(".code-block").first().getByRole("button", { name: "Copied" }).waitFor();
    await page.getByLabel("Prompt", { exact: true }).focus();
    await page.keyboard.press("Control+v");
    await page.waitForFunction(() => document.querySelector(".composer-field").value.includes("let sum"));
    // The browser's own word on a header that it takes only from trustworthy places.
    const ours = complaints.filter((complaint) => !complaint.startsWith("The Cross-Origin-Opener-Policy header"));
    assert.deepEqual(ours, []);
  });

  it("can be installed on loopback, and says so", async () => {
    const { page, complaints } = await open(browser, (await host.link()).replace("jackfield.test", "127.0.0.1"));
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByText("This page can be installed as an app").waitFor();
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    assert.deepEqual(complaints, []);
  });
});
