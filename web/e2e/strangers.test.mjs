// Pages of strangers in a browser that is logged in: what they can reach of the host, and what of it they can change
// (S3, S4, S7, S9, S10). The strangers are real pages, on other ports and under other names that lead to this machine.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Host, launch, open } from "./stage.mjs";

/** A server of somebody else on this machine, which writes down what it is sent. */
function stranger() {
  const seen = [];
  const server = createServer((asked, response) => {
    seen.push({ path: asked.url, cookie: asked.headers.cookie ?? "" });
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>a stranger</title><p>hello");
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      resolve({ port, seen, stop: () => server.close() });
    });
  });
}

/** What a program that is no browser is answered. */
function ask(address, { method = "GET", path, headers = {}, body }) {
  const [host, port] = address.split(":");
  return new Promise((resolve, reject) => {
    const asked = request({ host, port, method, path, headers: { host: address, ...headers } }, (response) => {
      let said = "";
      response.on("data", (data) => {
        said += data;
      });
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, said }));
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

/** Everything that a page can try on another origin; what came of each. */
async function attack({ http, socket, command }) {
  const tried = {};
  const attempt = async (name, action) => {
    try {
      tried[name] = await action();
    } catch {
      tried[name] = "refused";
    }
  };
  const json = { "content-type": "application/json" };
  const read = (options) => async () => {
    const answer = await fetch(`${http}/api/sessions`, options);
    return answer.type === "opaque" ? "opaque" : answer.status;
  };
  const write = (options) => async () => {
    const answer = await fetch(`${http}/api/commands`, { method: "POST", body: command, ...options });
    return answer.type === "opaque" ? "opaque" : answer.status;
  };
  await attempt("read", read({}));
  await attempt("read with cookies", read({ credentials: "include" }));
  await attempt("read without cors", read({ mode: "no-cors", credentials: "include" }));
  await attempt("write", write({ headers: json }));
  await attempt("write with cookies", write({ headers: json, credentials: "include" }));
  await attempt("write without cors", write({ mode: "no-cors", credentials: "include" }));
  await attempt("write as a form's text", write({ headers: { "content-type": "text/plain" }, credentials: "include" }));
  await attempt("beacon", () => {
    navigator.sendBeacon(`${http}/api/commands`, new Blob([command], { type: "text/plain" }));
    return "sent";
  });
  await attempt("socket", () => {
    return new Promise((resolve) => {
      const tried = new WebSocket(`${socket}/api/socket`);
      tried.onopen = () => resolve("open");
      tried.onerror = () => resolve("refused");
    });
  });
  const load = (tag, name) => () => {
    return new Promise((resolve) => {
      const element = document.createElement(tag);
      element.onload = () => resolve("loaded");
      element.onerror = () => resolve("refused");
      element[name] = `${http}/api/sessions`;
      document.body.append(element);
    });
  };
  await attempt("script", load("script", "src"));
  await attempt("picture", load("img", "src"));
  return tried;
}

describe("strangers", () => {
  const host = new Host();
  let browser;
  let other;
  let inside;
  let command;
  before(async () => {
    const link = await host.start();
    other = await stranger();
    browser = await launch(["--host-resolver-rules=MAP evil.test 127.0.0.1, MAP *.evil.test 127.0.0.1"]);
    inside = await open(browser, link);
    await inside.page.getByRole("heading", { name: "Plug in" }).waitFor();
    const create = { type: "create_session", cwd: host.folder, origin: "new", agent: "demo" };
    command = JSON.stringify({ id: "stolen", session_id: null, command: create });
  });
  after(async () => {
    await browser?.close();
    other?.stop();
    await host.stop();
  });

  const token = () => readFileSync(join(host.data, "token"), "utf8").trim();
  const sessions = async () => {
    const headers = { authorization: `Bearer ${token()}` };
    const answer = await ask(host.address, { path: "/api/sessions", headers });
    assert.equal(answer.status, 200, answer.said);
    return JSON.parse(answer.said).sessions.length;
  };
  const targets = () => ({ http: `http://${host.address}`, socket: `ws://${host.address}`, command });
  const harmless = (tried) => {
    for (const [name, came] of Object.entries(tried)) {
      const allowed = name === "beacon" ? ["sent"] : ["refused", "opaque", 401, 403, 421];
      assert.ok(allowed.includes(came), `${name}: ${came}`);
    }
    assert.ok(Object.keys(tried).length >= 11);
  };

  it("S4 from another port or name read nothing, change nothing and open no socket", async () => {
    const port = host.address.split(":")[1];
    const names = ["127.0.0.1", "localhost", "evil.test", "127.0.0.1.evil.test", "localhost.evil.test"];
    for (const name of names) {
      const page = await inside.context.newPage();
      await page.goto(`http://${name}:${other.port}/`);
      harmless(await page.evaluate(attack, targets()));
      const ours = { http: `http://localhost:${port}`, socket: `ws://localhost:${port}`, command };
      harmless(await page.evaluate(attack, ours));
      await page.close();
    }
    assert.equal(await sessions(), 0);
  });

  it("S3 under a name that leads here get nothing, not even the page", async () => {
    const port = host.address.split(":")[1];
    for (const name of ["evil.test", "127.0.0.1.evil.test"]) {
      const page = await inside.context.newPage();
      // As after a rebinding: the stranger's name, our port, and so the same origin.
      const answer = await page.goto(`http://${name}:${port}/`);
      assert.equal(answer.status(), 421);
      assert.ok(!(await page.content()).includes("<script"), "the page is not served there");
      const here = { http: `http://${name}:${port}`, socket: `ws://${name}:${port}`, command };
      harmless(await page.evaluate(attack, here));
      harmless(await page.evaluate(attack, targets()));
      await page.close();
    }
    assert.equal(await sessions(), 0);
  });

  it("S9 with forms change nothing, however they are written", async () => {
    const encodings = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"];
    for (const enctype of encodings) {
      for (const path of ["/api/commands", "/api/login", "/api/logout", "/api/tickets"]) {
        const page = await inside.context.newPage();
        await page.goto(`http://127.0.0.1:${other.port}/`);
        const action = `http://${host.address}${path}`;
        const answered = page.waitForResponse((response) => response.url() === action);
        await page.evaluate(
          ({ action, enctype, command }) => {
            const form = document.createElement("form");
            Object.assign(form, { action, method: "post", enctype });
            const field = document.createElement("input");
            // A field that makes the body look like JSON.
            Object.assign(field, { type: "hidden", name: command.slice(0, -1), value: `"}` });
            form.append(field);
            document.body.append(form);
            form.submit();
          },
          { action, enctype, command },
        );
        const status = (await answered).status();
        assert.ok(status >= 400, `${enctype} to ${path}: ${status}`);
        await page.close();
      }
    }
    assert.equal(await sessions(), 0);
    // Whoever was logged in still is.
    await inside.page.reload();
    await inside.page.getByRole("heading", { name: "Plug in" }).waitFor();
  });

  it("S9 on another port are sent the cookie, and it opens nothing", async () => {
    const page = await inside.context.newPage();
    await page.goto(`http://127.0.0.1:${other.port}/cookies`);
    const { cookie } = other.seen.findLast(({ path }) => path === "/cookies");
    // That is how browsers are: cookies know no ports.
    assert.match(cookie, /jackfield/);
    for (const origin of [undefined, `http://${host.address}`, `http://127.0.0.1:${other.port}`]) {
      const headers = { cookie, "content-type": "application/json", ...(origin && { origin }) };
      for (const path of ["/api/sessions", "/api/settings", "/api/desk"]) {
        const answer = await ask(host.address, { path, headers });
        assert.ok([401, 403].includes(answer.status), `${path}: ${answer.status}`);
      }
      const answer = await ask(host.address, { method: "POST", path: "/api/commands", headers, body: command });
      assert.ok([401, 403].includes(answer.status), `${answer.status}`);
    }
    await page.close();
    assert.equal(await sessions(), 0);
  });

  it("S10 can neither frame the page nor keep a hand on its window", async () => {
    const page = await inside.context.newPage();
    await page.goto(`http://127.0.0.1:${other.port}/`);
    const framed = await page.evaluate(
      (http) =>
        new Promise((resolve) => {
          const frame = document.createElement("iframe");
          frame.src = `${http}/`;
          frame.onload = () => resolve("over");
          document.body.append(frame);
        }),
      `http://${host.address}`,
    );
    assert.equal(framed, "over");
    const inner = page.frames().find((frame) => frame !== page.mainFrame());
    assert.ok(!(await inner.content()).includes('id="page"'), inner.url());

    const opened = inside.context.waitForEvent("page");
    await page.evaluate((http) => {
      window.victim = window.open(`${http}/`);
    }, `http://${host.address}`);
    const victim = await opened;
    await victim.waitForLoadState();
    assert.ok((await victim.content()).includes('id="page"'));
    assert.equal(await victim.evaluate(() => window.opener), null);
    const held = await page.evaluate(() => window.victim.closed);
    assert.ok(held, "the window is out of the stranger's hands");
    await victim.close();
    await page.close();
  });

  it("S7 find no secret in an address, and the page leaves none there", async () => {
    const secret = token();
    const page = await inside.context.newPage();
    await page.goto(await host.link());
    await page.getByRole("heading", { name: "Plug in" }).waitFor();
    const addresses = await page.evaluate(() => [
      location.href,
      document.referrer,
      ...performance.getEntriesByType("resource").map((entry) => entry.name),
    ]);
    for (const address of addresses) {
      assert.ok(!address.includes("ticket=") && !address.includes(secret), address);
      assert.ok(!/[?&](key|token|cookie)=/.test(address), address);
    }
    // Going back does not bring it back.
    await page.goto(`http://127.0.0.1:${other.port}/referred`);
    await page.goBack();
    assert.ok(!page.url().includes("ticket="), page.url());
    await page.close();
  });
});
