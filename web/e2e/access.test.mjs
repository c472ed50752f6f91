// Getting in, and staying out.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { FAST, Host, launch, open } from "./stage.mjs";

describe("access", () => {
  const host = new Host({ variables: FAST });
  let browser;
  let link;
  before(async () => {
    link = await host.start();
    browser = await launch();
  });
  after(async () => {
    await browser?.close();
    await host.stop();
  });

  it("lets a ticket in once, and takes it out of the address", async () => {
    const { page, context, complaints } = await open(browser, link);
    await page.getByRole("heading", { name: "Plug in" }).waitFor();
    assert.equal(new URL(page.url()).hash, "");
    assert.deepEqual(complaints, []);

    const second = await open(browser, link);
    await second.page.getByText("was used before").waitFor();
    await second.context.close();
    await context.close();
  });

  it("says how to get in to whoever has no ticket", async () => {
    const { page, context } = await open(browser, new URL("/", link).href);
    await page.getByText("This tab has no key").waitFor();
    await page.getByLabel("Or paste it here").fill(await host.link());
    await page.getByRole("button", { name: "Go in" }).click();
    await page.getByRole("heading", { name: "Plug in" }).waitFor();
    // Another tab of the same browser borrows the key; a reload keeps it.
    const other = await context.newPage();
    await other.goto(new URL("/settings/general", link).href);
    await other.getByRole("heading", { name: "This browser" }).waitFor();
    await other.reload();
    await other.getByRole("heading", { name: "This browser" }).waitFor();
    await context.close();
  });

  it("makes a link for another device that works, and logs out for good", async () => {
    const { page, context } = await open(browser, await host.link());
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByRole("button", { name: "Devices" }).click();
    await page.getByRole("button", { name: "Make a link" }).click();
    await page.getByRole("img", { name: "QR code" }).waitFor();
    const made = await page.locator(".link code").innerText();
    const other = await open(browser, made);
    await other.page.getByRole("heading", { name: "Plug in" }).waitFor();
    await other.context.close();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByText("This tab has no key").waitFor();
    await context.close();
  });

  it("refuses what its policy does not name", async () => {
    const { page, context } = await open(browser, await host.link());
    await page.getByRole("heading", { name: "Plug in" }).waitFor();
    const refused = await page.evaluate(() => {
      const tried = {};
      const attempt = (name, action) => {
        try {
          action();
          tried[name] = "done";
        } catch {
          tried[name] = "refused";
        }
      };
      attempt("markup", () => {
        document.createElement("div").innerHTML = "<b>x</b>";
      });
      attempt("script", () => {
        document.createElement("script").text = "1";
      });
      return tried;
    });
    assert.deepEqual(refused, { markup: "refused", script: "refused" });
    await context.close();
  });
});
