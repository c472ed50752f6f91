// Every screen in both colour schemes and on a phone: nothing serious for axe, nothing wider than the window. With
// SCREENSHOTS=1 the pictures for the documents are taken on the way.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { findings } from "./axe.mjs";
import { begin, cachedClaude, card, chooseFolder, FAST, Host, launch, open, say, turnEnds } from "./stage.mjs";

// Taken are those that the README shows.
const pictures = new URL("../../docs/pictures/", import.meta.url).pathname;
const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

const LOOKS = [
  { name: "light", options: { colorScheme: "light", viewport: { width: 1280, height: 820 } } },
  {
    name: "dark",
    // And whoever wants no motion gets none.
    options: { colorScheme: "dark", reducedMotion: "reduce", viewport: { width: 1280, height: 820 } },
  },
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
];

describe("how it looks", () => {
  // Nothing is begun with it here; it only stands in the list of agents, as it does where it is installed.
  const claude = cachedClaude("2.1.325");
  const host = new Host({ variables: FAST, flags: claude === null ? [] : ["--claude", claude] });
  host.folder = join(host.home, "greetings");
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
        found.push(...(await findings(page, screen)));
        const picture = `${screen}-${name}.webp`;
        if (process.env.SCREENSHOTS && readme.includes(`pictures/${picture}`)) {
          const session = await context.newCDPSession(page);
          const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 85 });
          writeFileSync(pictures + picture, Buffer.from(data, "base64"));
        }
      };
      const home = async () => {
        const back = page.getByRole("button", { name: "To the sessions" });
        if (await back.isVisible()) await back.click();
      };
      // When it has gone, its focus has gone back to where it was, and closes no menu any more.
      const closePanel = async () => {
        await page.locator(".panel").getByRole("button", { name: "Close" }).click();
        await page.locator(".panel").waitFor({ state: "detached" });
      };
      const stranger = await open(browser, `http://${host.address}/`, options);
      await stranger.page.getByLabel("Or paste it here").waitFor();
      found.push(...(await findings(stranger.page, "login")));
      await stranger.context.close();
      await page.getByRole("button", { name: "New session" }).first().waitFor();
      await look("home");
      await page.getByRole("button", { name: "History" }).click();
      await page.getByText("There are none.").waitFor();
      await look("history");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "New session" }).first().click();
      await page.getByRole("dialog").getByText("Claude Code", { exact: true }).click();
      await chooseFolder(page.getByRole("dialog"), hooked);
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
      await closePanel();
      await page.getByRole("button", { name: "More" }).click();
      await look("menu");
      await page.getByRole("menuitem", { name: "Debugger" }).click();
      await page.locator(".feed-row.line-of").first().waitFor();
      await page.locator(".feed-row.event").first().waitFor();
      await look("debugger");
      await closePanel();
      await page.getByRole("button", { name: "More" }).click();
      await page.getByRole("menuitem", { name: "MCP servers" }).click();
      await page.locator(".servers li").first().waitFor();
      await look("servers");
      await closePanel();
      await page.locator(".user-message").first().getByRole("button").click();
      await page.getByRole("menuitem", { name: "Rewind to here …" }).click();
      await page
        .getByRole("dialog")
        .getByText(/would change|No file/)
        .first()
        .waitFor();
      await look("rewind");
      await page.keyboard.press("Escape");
      await page.getByLabel("Prompt", { exact: true }).fill("/");
      await page.getByRole("option").first().waitFor();
      await look("commands");
      await page.getByLabel("Prompt", { exact: true }).fill("");
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Go to, or do" }).waitFor();
      await look("palette");
      await page.keyboard.press("Escape");
      await page.locator(".timeline-scroll").press("?");
      await page.getByRole("dialog", { name: "Keys" }).waitFor();
      await look("keys");
      await page.keyboard.press("Escape");
      await say(page, "todo");
      await turnEnds(page, 2);
      await page.getByRole("button", { name: "background work" }).click();
      await page.locator(".panel .todos").waitFor();
      await look("work");
      await closePanel();
      await say(page, "crash");
      await page.locator(".line", { hasText: "exit code 1" }).waitFor();
      await look("crashed");
      await home();
      await page.getByLabel("Search all conversations").fill("greeting");
      await page.locator(".session-list mark").first().waitFor();
      await look("found");
      await page.getByLabel("Search all conversations").fill("");
      await page.getByRole("button", { name: "Settings" }).click();
      for (const part of ["General", "Rules", "Trust", "MCP servers", "Usage", "Audit", "Devices"]) {
        await page.locator(".tabs").getByRole("button", { name: part }).click();
        await page.locator(".settings-body h2").first().waitFor();
        await page.waitForFunction(
          () => !/(Loading|Counting|Asking) …/.test(document.querySelector(".settings-body").innerText),
        );
        if (part === "Rules") await page.getByRole("button", { name: "A rule" }).click();
        if (part === "Devices") {
          await page.getByRole("button", { name: "Make a link" }).click();
          await page.getByRole("img", { name: "QR code" }).waitFor();
        }
        await look(`settings-${part.toLowerCase()}`);
      }
      if (options.reducedMotion === "reduce") {
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
