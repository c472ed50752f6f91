// What axe finds on a page that makes it hard or impossible to use for somebody.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Serious and critical findings, and whether the page is wider than its window; each begins with the screen's name. */
export async function findings(page, screen) {
  const found = [];
  // Rows of a long list are hidden until they were measured.
  await page.waitForFunction(() => document.querySelector("[style*='visibility: hidden']") === null);
  // An animation whose element goes is aborted; that is over too.
  await page.evaluate(() =>
    Promise.allSettled(
      document
        .getAnimations()
        .filter((each) => Number.isFinite(each.effect?.getComputedTiming().endTime))
        .map((each) => each.finished),
    ),
  );
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (wide > 0) found.push(`${screen}: ${wide} pixels too wide`);
  // Only parts of the page scroll; else a menu or a key could push its head out of sight.
  const long = await page.evaluate(() => document.documentElement.scrollHeight - innerHeight);
  if (long > 0) found.push(`${screen}: ${long} pixels too long`);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  for (const { id, impact, nodes } of violations) {
    if (impact !== "serious" && impact !== "critical") continue;
    const where = nodes.map((node) => `${node.target} ${node.any[0]?.message ?? ""}`).slice(0, 3);
    found.push(`${screen}: ${id}: ${where.join(" | ")}`);
  }
  return found;
}
