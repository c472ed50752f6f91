// Settings: folders that are trusted, MCP servers, what was used, what was decided, other devices.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { begin, card, FAST, Host, launch, open, say, turnEnds } from "./stage.mjs";

describe("settings", () => {
  const host = new Host({ variables: FAST });
  let browser;
  let page;
  let watched;
  before(async () => {
    const link = await host.start();
    browser = await launch();
    watched = await open(browser, link);
    page = watched.page;
    await begin(page, host.folder);
    await say(page, "bash");
    await (await card(page)).press("Enter");
    await turnEnds(page);
  });
  after(async () => {
    await browser?.close();
    await host.stop();
  });

  const at = async (part) => {
    await page.goto(new URL(`/settings/${part}`, page.url()).href);
    await page.locator(".settings-body h2").first().waitFor();
  };

  it("lists the folders that were asked about, says when they changed, and forgets them", async () => {
    const folder = join(host.folder, "hooked");
    mkdirSync(join(folder, ".claude"), { recursive: true });
    const settings = (command) =>
      writeFileSync(
        join(folder, ".claude/settings.json"),
        JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: "command", command }] }] } }),
      );
    settings("./format.sh");
    await at("trust");
    await page.getByText("You were not asked about any folder yet").waitFor();
    const trust = (path) =>
      page.evaluate(async (path) => {
        const headers = {
          "x-jackfield-key": sessionStorage.getItem("jackfield.key"),
          "content-type": "application/json",
        };
        const { fingerprint } = await (await fetch(`/api/trust?path=${encodeURIComponent(path)}`, { headers })).json();
        const body = JSON.stringify({ path, fingerprint, trusted: true });
        return (await fetch("/api/trust", { method: "PUT", headers, body })).status;
      }, path);
    assert.equal(await trust(folder), 200);
    await page.reload();
    const row = page.locator(".trusted li", { hasText: "hooked" });
    await row.getByText("trusted, with what it brings").waitFor();
    await row.getByRole("button", { name: "It brings 1 thing" }).click();
    await row.getByText("./format.sh").waitFor();
    settings("./harm.sh");
    await page.reload();
    await row.getByText("it brings something else now").waitFor();
    await row.getByRole("button", { name: "Trust no longer" }).click();
    await row.waitFor({ state: "detached" });
    await page.getByText("You were not asked about any folder yet").waitFor();
  });

  it("shows the MCP servers of the sessions that have a run, and their tools", async () => {
    await at("servers");
    const session = page.locator(".servers-of").first();
    await session.locator(".server-state.connected").waitFor();
    await session.getByText("1 tool").click();
    await session.getByText("weather", { exact: true }).waitFor();
  });

  it("plots what was used per day and model, in money and tokens", async () => {
    await at("usage");
    await page.locator(".plot .bar").first().waitFor();
    await page.locator(".legend li", { hasText: "demo" }).waitFor();
    const label = () => page.locator(".plot svg").getAttribute("aria-label");
    assert.match(await label(), /^Costs of \d+ days, at most \$/);
    await page.getByRole("button", { name: "tokens" }).click();
    assert.match(await label(), /^Tokens of \d+ days/);
    await page.getByRole("button", { name: "by model" }).click();
    await page.locator(".bars li", { hasText: "demo" }).waitFor();
    await page.getByRole("button", { name: "by session" }).click();
    await page.locator(".bars li", { hasText: "bash" }).waitFor();
  });

  it("keeps what was decided, to be filtered and saved", async () => {
    await at("audit");
    const rows = page.locator(".decisions li");
    await rows.first().waitFor();
    await page.getByLabel("Which outcome").selectOption("denied");
    await page.getByText("None of those that are loaded").waitFor();
    await page.getByLabel("Which outcome").selectOption("allowed");
    await page.getByLabel("Filter").fill("lint");
    await rows.first().waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save these" }).click();
    const place = join(host.home, "decisions.ndjson");
    await (await download).saveAs(place);
    const [first] = readFileSync(place, "utf8").trim().split("\n");
    assert.equal(JSON.parse(first).outcome, "allowed");
  });

  it("lets a named device in with fewer rights, tells who answered by that name, and lets it in no more", async () => {
    await at("devices");
    await page.getByLabel("What it is called").fill("the phone");
    await page.getByLabel("What it may do").selectOption("answer");
    await page.getByRole("button", { name: "Make a link" }).click();
    await page.getByRole("img", { name: "QR code" }).waitFor();
    const phone = await open(browser, await page.locator(".link code").innerText(), {
      viewport: { width: 390, height: 844 },
      isMobile: true,
      hasTouch: true,
    });
    await phone.page.locator(".session-row").first().waitFor();

    const session = await begin(page, host.folder);
    await say(page, "bash");
    await card(page);
    const row = phone.page.locator(".session-list > li", { hasText: "bash" }).first();
    await row.locator(".card[data-answerable=true]").waitFor();
    await row.getByRole("button", { name: "Allow" }).click();
    await page.locator(".question-record.allowed", { hasText: "the phone" }).waitFor();
    assert.ok(session);

    await at("devices");
    const device = page.locator(".devices li", { hasText: "the phone" });
    await device.getByText("may look, prompt and answer").waitFor();
    await device.getByRole("button", { name: "Let in no more: the phone" }).click();
    await device.waitFor({ state: "detached" });
    await phone.page.getByRole("heading", { name: "Jackfield" }).waitFor();
    await phone.page.getByLabel("Or paste it here").waitFor();
    await phone.context.close();
    assert.deepEqual(watched.complaints, []);
  });
});
