// The page in another browser than Chromium: Debian's Firefox, driven by what it speaks itself.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Firefox, firefoxProgram } from "./firefox.mjs";
import { FAST, Host } from "./stage.mjs";

const skip = firefoxProgram() === null && "not run: there is no Firefox; install Debian's `firefox-esr`";

describe("Firefox", { skip }, () => {
  const host = new Host({ variables: FAST });
  let firefox;
  before(async () => {
    const link = await host.start();
    firefox = await Firefox.launch();
    await firefox.goto(link);
  });
  after(async () => {
    await firefox?.close();
    await host.stop();
  });

  const present = (selector, words) =>
    firefox.until(
      (selector, words) => [...document.querySelectorAll(selector)].some((each) => each.innerText.includes(words)),
      selector,
      words,
    );

  /** Begins a session with the demo agent and says something. */
  async function begin(words) {
    await firefox.click("button[aria-label='New session']");
    await firefox.click("dialog .agent", "Demo agent");
    await firefox.until((folder) => {
      const field = document.querySelector("dialog .folder-picker input");
      if (field === null) return false;
      if (field.value !== folder) {
        // As typing does it, so that React hears of it.
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, folder);
        field.dispatchEvent(new Event("input", { bubbles: true }));
      }
      return field.value === folder;
    }, host.folder);
    // The list of its folders moves what stands below.
    await firefox.until(
      (folder) => document.querySelector("dialog .folders")?.getAttribute("aria-label") === `Folders in ${folder}`,
      host.folder,
    );
    await firefox.click("dialog footer button", "Begin");
    await present("h2", "What shall be done in");
    await firefox.until(() => document.activeElement?.classList.contains("composer-field"));
    await firefox.type(`${words}\uE007`);
  }

  it("streams a conversation, colours its code, and answers by one key", async () => {
    await begin("markdown");
    await present(".turn-end", "$");
    await firefox.until(() => document.querySelector(".prose table td") !== null);
    await firefox.until(() => document.querySelector(".code-block .token-keyword") !== null);
    await begin("bash");
    await firefox.until(() => document.querySelector(".desk .card[data-answerable=true]") !== null);
    await firefox.type("\uE007");
    await present(".question-record.allowed", "Firefox on Linux");
    await present(".turn-end", "$");
    assert.deepEqual(firefox.complaints, []);
  });

  it("opens menus, panels and settings, and stays within the window", async () => {
    await firefox.click("button[aria-label='More']");
    await firefox.click("[role=menuitem]", "Debugger");
    await firefox.until(() => document.querySelectorAll(".feed-row.line-of").length > 5);
    await firefox.click(".panel button[aria-label='Close']");
    await firefox.click("button[aria-label='Settings']");
    for (const [part, words] of [
      ["Rules", "They answer before you are asked"],
      ["Usage", "in all"],
      ["Devices", "Let another device in"],
    ]) {
      await firefox.click(".tabs button", part);
      await present(".settings-body", words);
    }
    const wide = await firefox.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${wide} pixels too wide`);
    assert.deepEqual(firefox.complaints, []);
  });
});
