// The page below a path of a proxy: every address that it makes leads through there.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { freePort, ReverseProxy } from "./proxy.mjs";
import { begin, FAST, Host, launch, open, say, turnEnds } from "./stage.mjs";

const BASE = "/tools/jackfield";

describe("behind a proxy", () => {
  let browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser?.close());

  const kept = (path) => (path === BASE || path.startsWith(`${BASE}/`) ? path : null);
  const taken = (path) => (path.startsWith(`${BASE}/`) ? path.slice(BASE.length) : null);
  for (const [how, rewrite] of [
    ["that keeps the path", kept],
    ["that takes the path away", taken],
  ]) {
    it(`works below ${BASE}, with one ${how}`, async () => {
      const port = await freePort();
      const flags = ["--set", `server.names=http://127.0.0.1:${port}`, "--set", `server.base_path=${BASE}`];
      const host = new Host({ flags, variables: FAST });
      const link = await host.start();
      assert.equal(new URL(link).pathname, `${BASE}/`);
      const proxy = new ReverseProxy(host.address, rewrite);
      await proxy.open(port);
      const { page, context, complaints, outside } = await open(browser, link);
      const strange = [];
      page.on("request", (request) => {
        const { pathname, protocol } = new URL(request.url());
        if (protocol.startsWith("http") && !pathname.startsWith(`${BASE}/`)) strange.push(pathname);
      });
      const url = await begin(page, host.folder);
      assert.ok(new URL(url).pathname.startsWith(`${BASE}/s/`), url);
      await say(page, "edit");
      await page.locator(".desk .card[data-answerable=true]").press("Enter");
      await page.locator(".tool.modify_file .diff-line.added").first().waitFor();
      await page.reload();
      await page.locator(".desk .card[data-answerable=true]").press("Enter");
      await turnEnds(page);
      // A part that is loaded when it is wanted.
      await page.getByRole("button", { name: "files changed" }).click();
      await page.locator(".panel .diff-line").first().waitFor();
      await page.getByRole("button", { name: "Settings" }).click();
      await page.waitForURL((now) => now.pathname === `${BASE}/settings/general`);
      await page.getByText("This browser").waitFor();
      const worker = await page.evaluate(() => navigator.serviceWorker.ready.then((ready) => ready.scope));
      assert.equal(new URL(worker).pathname, `${BASE}/`);
      await page.goBack();
      await page.waitForURL((now) => now.pathname.startsWith(`${BASE}/s/`));
      await page.locator(".brand").click();
      await page.waitForURL((now) => now.pathname === `${BASE}/`);
      // Without the host the kept shell opens there too.
      await page.reload();
      await page.locator(".session-row").first().waitFor();
      await host.kill();
      await page.goto(new URL(`${BASE}/`, url).href);
      await page.getByText("The host is away").waitFor();
      assert.deepEqual(strange, []);
      assert.deepEqual(complaints, []);
      assert.deepEqual(outside, []);
      await context.close();
      proxy.close();
      await host.stop();
    });
  }
});
