// Every screen in both colour schemes and on a phone: nothing serious for axe, nothing wider than the window. With
// SCREENSHOTS=1 the pictures for the documents are taken on the way.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { begin, card, Host, launch, open, say, turnEnds } from "./stage.mjs";

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const pictures = new URL("../screenshots/", import.meta.url).pathname;

const SHOWN = new Set(["new-session", "sessions", "conversation", "permission", "plan", "changes", "settings-costs"]);

const LOOKS = [
  { name: "light", options: { colorScheme: "light", viewport: { width: 1280, height: 820 } } },
  { name: "dark", options: { colorScheme: "dark", viewport: { width: 1280, height: 820 } } },
  {
    name: "phone",
    options: {
      colorScheme: "light",
      viewport: { width: 390, height: 844 },
      isMobile: true,
      hasTouch: true,
      deviceScaleFactor: 2,
    },
  },
  { name: "calm", options: { colorScheme: "dark", reducedMotion: "reduce", viewport: { width: 1280, height: 820 } } },
];

describe("how it looks", () => {
  const host = new Host();
  let browser;
  const hooked = join(host.folder, "hooked");
  before(async () => {
    mkdirSync(join(hooked, ".claude"), { recursive: true });
    const hooks = { PostToolUse: [{ matcher: "Edit", hooks: [{ type: "command", command: "./scripts/format.sh" }] }] };
    writeFileSync(
      join(hooked, ".claude/settings.json"),
      JSON.stringify({ hooks, permissions: { allow: ["Bash(npm run *)"] } }),
    );
    writeFileSync(
      join(hooked, ".mcp.json"),
      JSON.stringify({ mcpServers: { docs: { command: "npx", args: ["docs-server"] } } }),
    );
    await host.start();
    browser = await launch();
  });
  after(async () => {
    await browser?.close();
    await host.stop();
  });

  for (const { name, options } of LOOKS) {
    it(`is reachable and readable for everybody: ${name}`, async () => {
      const { page, context, complaints } = await open(browser, await host.link(), options);
      const found = [];
      const look = async (screen) => {
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
        if (process.env.SCREENSHOTS && name !== "calm" && SHOWN.has(screen)) {
          mkdirSync(pictures, { recursive: true });
          await page.screenshot({ path: `${pictures}${screen}-${name}.png` });
        }
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (wide > 0) found.push(`${screen}: ${wide} pixels too wide`);
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        for (const { id, impact, nodes } of violations) {
          if (impact === "serious" || impact === "critical")
            found.push(
              `${screen}: ${id}: ${nodes
                .map((node) => `${node.target} ${node.any[0]?.message ?? ""}`)
                .slice(0, 3)
                .join(" | ")}`,
            );
        }
      };
      const home = async () => {
        const back = page.getByRole("button", { name: "To the sessions" });
        if (await back.isVisible()) await back.click();
      };
      await page.getByRole("button", { name: "New session" }).first().waitFor();
      await look("home");
      await page.getByRole("button", { name: "New session" }).first().click();
      await page.getByRole("dialog").getByText("Claude Code", { exact: true }).click();
      await page.getByLabel("Folder", { exact: true }).fill(hooked);
      await page.locator(".brings li").first().waitFor();
      await look("new-session");
      await page.keyboard.press("Escape");

      await begin(page, host.folder);
      await say(page, "markdown");
      await turnEnds(page);
      await page.locator(".token-keyword").first().waitFor();
      await look("conversation");
      await home();
      await begin(page, host.folder);
      await say(page, "edit");
      await card(page);
      await look("permission");
      await home();
      await begin(page, host.folder);
      await say(page, "question");
      await card(page);
      await look("question");
      await home();
      await begin(page, host.folder);
      await say(page, "plan");
      await card(page);
      await look("plan");
      await home();
      await page.locator(".session-pending .card").first().waitFor();
      await look("sessions");
      await page.locator(".session-row", { hasText: "edit" }).first().click();
      for (let asked = 0; asked < 2; asked += 1) {
        const permission = await card(page);
        const title = await permission.locator(".card-title").innerText();
        await permission.getByRole("button", { name: "Allow" }).click();
        await page.locator(".desk .card-title", { hasText: title }).waitFor({ state: "detached" });
      }
      await turnEnds(page);
      await look("edited");
      await page.getByRole("button", { name: "files changed" }).click();
      await page.locator(".panel .diff-line").first().waitFor();
      await look("changes");
      await page.locator(".panel").getByRole("button", { name: "Close" }).click();
      await page.getByRole("button", { name: "More" }).click();
      await look("menu");
      await page.getByRole("menuitem", { name: "Events" }).click();
      await page.locator(".event").first().waitFor();
      await look("events");
      await page.locator(".panel").getByRole("button", { name: "Close" }).click();
      await page.getByLabel("Prompt", { exact: true }).fill("/");
      await page.getByRole("option").first().waitFor();
      await look("commands");
      await page.getByLabel("Prompt", { exact: true }).fill("");
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Go to, or do" }).waitFor();
      await look("palette");
      await page.keyboard.press("Escape");
      await home();
      await page.getByRole("button", { name: "Settings" }).click();
      for (const part of ["General", "Rules", "Costs", "Decisions", "Devices"]) {
        await page.locator(".tabs").getByRole("button", { name: part }).click();
        if (part === "Rules") await page.getByRole("button", { name: "A rule" }).click();
        await page.locator(".settings-body h2").first().waitFor();
        await look(`settings-${part.toLowerCase()}`);
      }
      if (name === "calm") {
        const moving = await page.evaluate(
          () =>
            document
              .getAnimations()
              .filter((each) => each.effect?.getComputedTiming().iterations === Number.POSITIVE_INFINITY).length,
        );
        assert.equal(moving, 0, "nothing moves for ever");
      }
      assert.deepEqual(found, []);
      assert.deepEqual(complaints, []);
      await context.close();
    });
  }
});
