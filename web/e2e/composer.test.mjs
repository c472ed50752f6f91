// Writing: files, pictures by paste and drop, sending at once, and what can be changed in mid-session.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { begin, chooseFolder, Host, launch, open, say, turnEnds } from "./stage.mjs";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe("the composer", () => {
  const host = new Host();
  let browser;
  let page;
  let watched;
  let field;
  before(async () => {
    mkdirSync(join(host.folder, "src"));
    writeFileSync(join(host.folder, "src/parser.rs"), "fn main() {}\n");
    const link = await host.start();
    browser = await launch();
    watched = await open(browser, link);
    page = watched.page;
    field = page.getByLabel("Prompt", { exact: true });
  });
  after(async () => {
    await browser?.close();
    await host.stop();
  });

  it("is where one writes as soon as a session has begun", async () => {
    await begin(page, host.folder);
    await page.waitForFunction(() => document.activeElement?.classList.contains("composer-field"));
    await page.keyboard.type("straight away");
    assert.equal(await field.inputValue(), "straight away");
    await field.fill("");
  });

  it("finds files behind an @ and puts them in", async () => {
    await field.pressSequentially("look at @pars");
    await page.getByRole("option", { name: "src/parser.rs" }).waitFor();
    await field.press("Enter");
    assert.equal(await field.inputValue(), "look at @src/parser.rs ");
    await field.fill("");
  });

  it("makes lines with Shift and Enter, and describes commands", async () => {
    await field.pressSequentially("one");
    await field.press("Shift+Enter");
    await field.pressSequentially("two");
    assert.equal(await field.inputValue(), "one\ntwo");
    await field.fill("/to");
    const option = page.getByRole("option", { name: "/tour" });
    await option.waitFor();
    assert.match(await option.innerText(), /Everything/);
    await field.press("Escape");
    await option.waitFor({ state: "detached" });
    await field.fill("");
  });

  it("takes pictures by paste and by drop, shows them, and sends them", async () => {
    const give = (kind) =>
      page.evaluate(
        async ({ kind, base64 }) => {
          const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
          const files = new DataTransfer();
          files.items.add(new File([bytes], `${kind}.png`, { type: "image/png" }));
          const target = document.querySelector(".composer-field");
          const options = { bubbles: true, cancelable: true };
          target.dispatchEvent(
            kind === "paste"
              ? new ClipboardEvent("paste", { ...options, clipboardData: files })
              : new DragEvent("drop", { ...options, dataTransfer: files }),
          );
        },
        { kind, base64: PIXEL },
      );
    await give("paste");
    await page.getByAltText("paste.png").waitFor();
    await give("drop");
    await page.getByAltText("drop.png").waitFor();
    await field.fill("think about these");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    const message = page.locator(".user-message", { hasText: "think about these" });
    await message.waitFor();
    assert.equal(await message.getByText("image/png").count(), 2);
    assert.equal(await page.locator(".previews img").count(), 0);
    await turnEnds(page);
  });

  it("stops the turn and sends at once, also what waits already", async () => {
    await begin(page, host.folder);
    await say(page, "slow");
    await page.locator(".said").first().waitFor();
    await field.fill("todo");
    await field.press("Control+Enter");
    await page.locator(".user-message", { hasText: "todo" }).waitFor();
    await turnEnds(page, 2);

    await say(page, "slow");
    await page.locator(".composer .stop").waitFor();
    await field.fill("think");
    await field.press("Alt+Enter");
    const waiting = page.locator(".queue li", { hasText: "think" });
    await waiting.getByRole("button", { name: "Stop and send now" }).click();
    await waiting.waitFor({ state: "detached" });
    await page.locator(".user-message", { hasText: "think" }).waitFor();
    await page.locator(".thought").first().waitFor();
  });

  it("changes mode, model and thinking in mid-session, for everybody and over a reload", async () => {
    const url = await begin(page, host.folder);
    await say(page, "think");
    await turnEnds(page);
    await page.getByLabel("Mode", { exact: true }).selectOption({ label: "plan" });
    await page.locator("select.mode.plan").waitFor();
    // The list is the agent's own.
    await page.getByLabel("Model").selectOption({ label: "Demo, large" });
    await page.getByLabel("Thinking").selectOption({ label: "more thinking" });
    const read = (where) =>
      where.evaluate(() =>
        ["Mode", "Model", "Thinking"].map((name) => {
          const select = document.querySelector(`.switches [aria-label="${name}"]`);
          return select?.selectedOptions[0]?.textContent;
        }),
      );
    const wanted = ["plan", "Demo, large", "more thinking"];
    const isSo = (where) =>
      where.waitForFunction(
        (words) =>
          ["Mode", "Model", "Thinking"].every(
            (name, at) =>
              document.querySelector(`.switches [aria-label="${name}"]`)?.selectedOptions[0]?.textContent === words[at],
          ),
        wanted,
      );
    await isSo(page);
    await page.reload();
    await isSo(page);
    const other = await open(browser, await host.link());
    await other.page.locator(".session-row").first().waitFor();
    await other.page.goto(url);
    await isSo(other.page);
    assert.deepEqual(await read(other.page), wanted);
    await other.context.close();
    assert.deepEqual(watched.complaints, []);
  });

  it("begins a session with the mode, model and thinking that were chosen", async () => {
    await page.getByRole("button", { name: "New session" }).first().click();
    const dialog = page.getByRole("dialog", { name: "New session" });
    await dialog.getByText("Demo agent", { exact: true }).click();
    await chooseFolder(dialog, host.folder);
    assert.deepEqual(
      (await dialog.getByRole("combobox", { name: "Mode", exact: true }).locator("option").allInnerTexts()).map(
        (label) => label.split(":")[0],
      ),
      ["ask", "act", "plan"],
    );
    await dialog.getByRole("combobox", { name: "Mode", exact: true }).selectOption("acceptEdits");
    await dialog.getByLabel("Model").selectOption({ label: "Demo, large" });
    await dialog.getByLabel("Thinking").selectOption({ label: "no thinking" });
    const before = page.url();
    await dialog.getByRole("button", { name: "Begin" }).click();
    await page.waitForURL((url) => url.href !== before);
    await say(page, "todo");
    await turnEnds(page);
    await page.locator("select.mode.acceptEdits").waitFor();
    assert.equal(await page.getByLabel("Model").locator("option:checked").innerText(), "Demo, large");
    assert.equal(await page.getByLabel("Thinking").locator("option:checked").innerText(), "no thinking");
  });
});
