// Everything that can be pressed can be reached by the Tab key, and is seen when it is.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { begin, card, FAST, Host, launch, open, say, turnEnds } from "./stage.mjs";

describe("the keyboard", () => {
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

  /** Walks with Tab once around; gives what can be pressed and was not reached, and what was reached unseen. */
  async function walk(screen) {
    await page.evaluate(() => {
      const pressable =
        "button, a[href], input, select, textarea, summary, [role=button], [role=menuitem], [role=checkbox]";
      const group = ({ name }) =>
        [...document.querySelectorAll("input[type=radio]")].filter((each) => each.name === name);
      // A dialog that is open makes everything else inert.
      const scope = document.querySelector("dialog[open]") ?? document;
      window.wanted = [...scope.querySelectorAll(pressable)].filter((element) => {
        const box = element.getBoundingClientRect();
        return (
          !element.disabled &&
          box.width > 0 &&
          box.height > 0 &&
          element.checkVisibility({ visibilityProperty: true }) &&
          // Of a group of radio buttons one is reached, and the arrows lead to the others.
          (element.type !== "radio" || element === (group(element).find((each) => each.checked) ?? group(element)[0]))
        );
      });
      window.reached = new Set();
      window.unseen = [];
      document.activeElement?.blur();
    });
    const many = await page.evaluate(() => window.wanted.length);
    for (let step = 0; step < many * 2 + 40; step += 1) {
      await page.keyboard.press("Tab");
      const around = await page.evaluate(() => {
        const now = document.activeElement;
        if (now === null || now === document.body) return false;
        const style = getComputedStyle(now);
        const box = now.closest(".composer-box, .search") ?? now;
        const around = getComputedStyle(box);
        const seen =
          (style.outlineStyle !== "none" && style.outlineWidth !== "0px") ||
          around.boxShadow !== "none" ||
          around.outlineStyle !== "none";
        if (!seen) window.unseen.push(now.outerHTML.slice(0, 120));
        const again = window.reached.has(now);
        window.reached.add(now);
        return again && window.wanted.every((element) => window.reached.has(element));
      });
      if (around) break;
    }
    return page.evaluate((screen) => {
      const missed = window.wanted.filter((element) => !window.reached.has(element) && element.isConnected);
      return {
        missed: missed.map((element) => `${screen}: ${element.outerHTML.slice(0, 140)}`),
        unseen: window.unseen.map((element) => `${screen}: ${element}`),
      };
    }, screen);
  }

  it("reaches everything on every screen, and shows where it is", async () => {
    const found = { missed: [], unseen: [] };
    const look = async (screen) => {
      await page.waitForLoadState("networkidle");
      let { missed, unseen } = await walk(screen);
      // What was drawn anew on the way is walked again; what cannot be reached is missed each time.
      for (let again = 0; again < 3 && missed.length > 0; again++) ({ missed, unseen } = await walk(screen));
      found.missed.push(...missed);
      found.unseen.push(...unseen);
    };
    await page.getByRole("heading", { name: "Plug in" }).waitFor();
    await look("home");
    await page.keyboard.press("Control+Shift+O");
    await page.getByRole("dialog", { name: "New session" }).getByText("the folder above").waitFor();
    await look("new session");
    await page.keyboard.press("Escape");
    await begin(page, host.folder);
    await say(page, "markdown");
    await turnEnds(page);
    await page.locator(".token-keyword").first().waitFor();
    await look("conversation");
    await begin(page, host.folder);
    await say(page, "edit");
    await card(page);
    await look("permission");
    await begin(page, host.folder);
    await say(page, "plan");
    await card(page);
    await look("plan");
    await begin(page, host.folder);
    await say(page, "question");
    await card(page);
    await look("question");
    for (const part of ["general", "rules", "trust", "servers", "usage", "audit", "devices"]) {
      await page.goto(new URL(`/settings/${part}`, page.url()).href);
      await page.locator(".settings-body h2").first().waitFor();
      await look(`settings ${part}`);
    }
    assert.deepEqual(found, { missed: [], unseen: [] });
    assert.deepEqual(watched.complaints, []);
  });

  it("opens, walks and closes menus and the palette without a pointer", async () => {
    await page.goto(new URL("/", page.url()).href);
    await page.locator(".session-row", { hasText: "markdown" }).focus();
    await page.keyboard.press("Enter");
    await turnEnds(page);
    await page.getByRole("button", { name: "More" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "Rename …" }).waitFor();
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.evaluate(() => document.activeElement.innerText), "Begin a copy of it");
    await page.keyboard.press("Escape");
    await page.getByRole("menuitem").first().waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "More");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Go to, or do" }).waitFor();
    await page.keyboard.type("mode: plan");
    await page.keyboard.press("Enter");
    await page.locator("select.mode.plan").waitFor();
    const before = page.url();
    await page.locator(".timeline-scroll").press("Alt+ArrowDown");
    await page.waitForURL((url) => url.href !== before);
    await (await card(page)).press("/");
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Prompt");
  });
});
