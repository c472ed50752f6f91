// A session that is longer than what is shown: earlier rows come when they are wanted, and what is read stays put.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { begin, Host, launch, open, say, turnEnds } from "./stage.mjs";

describe("a long session", () => {
  const host = new Host();
  let browser;
  let page;
  let complaints;
  before(async () => {
    const link = await host.start();
    browser = await launch();
    ({ page, complaints } = await open(browser, link));
    await begin(page, host.folder);
    await say(page, "flood 300");
    await turnEnds(page);
    await page.reload();
    await turnEnds(page);
  });
  after(async () => {
    await browser?.close();
    await host.stop();
  });

  it("opens at its end", async () => {
    const rest = await page
      .locator(".timeline-scroll")
      .evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);
    assert.ok(rest < 60, `${rest} pixels away from the end`);
  });

  it("brings earlier rows without moving what is read", async () => {
    const moved = await page.locator(".timeline-scroll").evaluate(async (box) => {
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      const settle = async () => {
        for (let quiet = 0, last = -1; quiet < 5; quiet += 1) {
          await frame();
          if (box.scrollHeight !== last) quiet = 0;
          last = box.scrollHeight;
        }
      };
      box.scrollTop = 1_500;
      await settle();
      const height = box.scrollHeight;
      box.scrollTop = 790;
      await frame();
      await frame();
      const rows = [...box.querySelectorAll(".row")];
      const middle = box.getBoundingClientRect().top + box.clientHeight / 2;
      const row = rows.find((each) => each.getBoundingClientRect().bottom > middle);
      const { seq } = row.dataset;
      const before = row.getBoundingClientRect().top;
      for (let waited = 0; box.scrollHeight < height + 3_000 && waited < 600; waited += 1) await frame();
      await settle();
      const now = box.querySelector(`.row[data-seq="${seq}"]`);
      return now === null ? null : Math.abs(now.getBoundingClientRect().top - before);
    });
    assert.notEqual(moved, null, "the row that was read is still there");
    assert.ok(moved <= 4, `it moved by ${moved} pixels`);
  });

  it("can be read back to its beginning, in order", async () => {
    const first = page.locator(".user-message", { hasText: "flood 300" });
    for (let turned = 0; turned < 500 && !(await first.isVisible()); turned += 1) {
      await page.locator(".timeline-scroll").press("Home");
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    }
    await first.waitFor();
    await page.getByText("The beginning").waitFor();
    const seqs = await page.locator(".row").evaluateAll((rows) => rows.map((row) => Number(row.dataset.seq)));
    assert.deepEqual(
      seqs,
      [...seqs].sort((a, b) => a - b),
    );
    await page.getByRole("button", { name: "Latest" }).click();
    await turnEnds(page);
    assert.deepEqual(complaints, []);
  });
});
