// Calling for a person who looks elsewhere: the title, a notification, a sound; each as it was switched.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { begin, card, Host, launch, open, say, turnEnds } from "./stage.mjs";

describe("attention", () => {
  const host = new Host();
  let browser;
  let page;
  let context;
  let complaints;
  /** What the browser itself tells of sound: how many tones were joined to the loudspeakers. */
  let tones = 0;
  before(async () => {
    const link = await host.start();
    browser = await launch();
    ({ page, context, complaints } = await open(browser, link));
    const devtools = await context.newCDPSession(page);
    devtools.on("WebAudio.audioNodeCreated", ({ node }) => {
      if (node.nodeType === "Oscillator") tones += 1;
    });
    await devtools.send("WebAudio.enable");
  });
  after(async () => {
    await browser?.close();
    await host.stop();
  });

  /** Waits until so many tones were played. */
  async function played(count) {
    const end = Date.now() + 60_000;
    while (tones < count) {
      assert.ok(Date.now() < end, `${tones} tones of ${count}`);
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    }
    assert.equal(tones, count);
  }

  /** Begins a session, says something and looks at the settings. */
  async function sayAndLookAway(words) {
    const session = await begin(page, host.folder);
    await say(page, words);
    await page.locator(".user-message").waitFor();
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByLabel("Appearance").waitFor();
    return session;
  }

  it("plays a sound when it is switched on, so that one knows it", async () => {
    await page.getByRole("button", { name: "Settings" }).click();
    assert.equal(tones, 0);
    await page.getByText("A sound", { exact: true }).click();
    await played(2);
  });

  it("plays it when a question waits and when a turn ends", async () => {
    const session = await sayAndLookAway("bash");
    await played(4);
    await page.waitForFunction(() => document.title.startsWith("(1) "));
    await page.goto(session);
    // Whoever looks at it needs no sound; it is read again after a reload.
    await (await card(page)).press("Enter");
    await turnEnds(page);
    await sayAndLookAway("think");
    await played(6);
    await page.waitForFunction(() => document.title === "Jackfield");
  });

  it("plays nothing once it is switched off, and still counts in the title", async () => {
    await page.getByText("A sound", { exact: true }).click();
    assert.equal(await page.getByLabel("A sound").isChecked(), false);
    await sayAndLookAway("edit");
    await page.waitForFunction(() => document.title.startsWith("(1) "));
    assert.equal(tones, 6);
  });

  it("notifies of a question, where that is allowed", async () => {
    await context.grantPermissions(["notifications"]);
    await page.evaluate(() => {
      window.shown = [];
      window.Notification = class {
        static permission = "granted";
        static requestPermission = async () => "granted";
        constructor(title, options) {
          window.shown.push(`${title} / ${options.body}`);
        }
      };
    });
    await page.getByText("Notifications", { exact: true }).click();
    await sayAndLookAway("edit");
    await page.waitForFunction(() => document.title.startsWith("(2) "));
    await page.waitForFunction(() => window.shown.some((each) => each.startsWith("asks: edit")));
    assert.deepEqual(complaints, []);
  });
});
