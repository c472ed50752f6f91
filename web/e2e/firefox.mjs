// Debian's Firefox over WebDriver BiDi, which it speaks by itself: as much of a driver as one test needs.
//
// The one rule it keeps: the browser reaches loopback only; everything else is led to a proxy that is not there.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import WebSocket from "ws";

const PREFERENCES = {
  "app.update.auto": false,
  "browser.aboutwelcome.enabled": false,
  "browser.shell.checkDefaultBrowser": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "network.proxy.type": 1,
  "network.proxy.http": "127.0.0.1",
  "network.proxy.http_port": 9,
  "network.proxy.ssl": "127.0.0.1",
  "network.proxy.ssl_port": 9,
  "network.proxy.no_proxies_on": "127.0.0.1, localhost",
  "network.proxy.allow_hijacking_localhost": false,
  "toolkit.telemetry.enabled": false,
};

/** The program, if there is one. */
export function firefoxProgram() {
  if (process.env.FIREFOX) return process.env.FIREFOX;
  const places = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, "firefox-esr"));
  return places.find((place) => existsSync(place)) ?? null;
}

/** A browser with one page. */
export class Firefox {
  #next = 0;
  #waiting = new Map();
  /** What the page complained about. */
  complaints = [];

  /** Starts it. */
  static async launch() {
    const firefox = new Firefox();
    firefox.home = mkdtempSync(join(tmpdir(), "jackfield-firefox-"));
    const lines = Object.entries(PREFERENCES).map(
      ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`,
    );
    writeFileSync(join(firefox.home, "user.js"), lines.join(""));
    const flags = ["--headless", "--no-remote", "--profile", firefox.home, "--remote-debugging-port", "0"];
    firefox.child = spawn(firefoxProgram(), flags, {
      env: { HOME: firefox.home, PATH: "/usr/bin:/bin", MOZ_CRASHREPORTER_DISABLE: "1" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    firefox.ended = new Promise((resolve) => firefox.child.once("exit", resolve));
    const address = await new Promise((resolve, reject) => {
      let said = "";
      firefox.child.stderr.on("data", (data) => {
        said += data;
        const found = /BiDi listening on (ws:\S+)/.exec(said)?.[1];
        if (found) resolve(found);
      });
      firefox.ended.then((code) => reject(new Error(`Firefox ended with ${code}: ${said}`)));
    });
    firefox.socket = new WebSocket(`${address}/session`);
    await new Promise((resolve, reject) => firefox.socket.once("open", resolve).once("error", reject));
    firefox.socket.on("message", (data) => firefox.#receive(JSON.parse(data)));
    await firefox.#ask("session.new", { capabilities: {} });
    await firefox.#ask("session.subscribe", { events: ["log.entryAdded"] });
    firefox.context = (await firefox.#ask("browsingContext.create", { type: "tab" })).context;
    await firefox.#ask("browsingContext.setViewport", {
      context: firefox.context,
      viewport: { width: 1280, height: 900 },
    });
    return firefox;
  }

  /** Goes to an address. */
  async goto(url) {
    await this.#ask("browsingContext.navigate", { context: this.context, url, wait: "complete" });
  }

  /** What a function gives in the page. */
  async evaluate(action, ...given) {
    const { result, exceptionDetails } = await this.#call(String(action), given.map(local));
    if (exceptionDetails) throw new Error(exceptionDetails.text);
    return result.value;
  }

  /** Waits until a function gives something true in the page. */
  async until(action, ...given) {
    const deadline = Date.now() + 60_000;
    for (;;) {
      const found = await this.evaluate(action, ...given);
      if (found) return found;
      if (Date.now() > deadline) {
        const seen = await this.evaluate(() => document.body.innerText);
        throw new Error(`it never came: ${action} ${JSON.stringify(given)}; the page says: ${seen}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Clicks on what a selector finds and has these words in it, with the browser's own pointer. */
  async click(selector, words = "") {
    await this.until(FIND, selector, words);
    const { result } = await this.#call(
      `(selector, words) => { const found = (${FIND})(selector, words); found.scrollIntoView({ block: "center" }); return found; }`,
      [selector, words].map(local),
    );
    const origin = { type: "element", element: { sharedId: result.sharedId } };
    await this.#act("pointer", [
      { type: "pointerMove", x: 0, y: 0, origin },
      { type: "pointerDown", button: 0 },
      { type: "pointerUp", button: 0 },
    ]);
  }

  /** Presses keys, one after the other, with the browser's own keyboard. */
  async type(text) {
    const keys = [...text].flatMap((value) => [
      { type: "keyDown", value },
      { type: "keyUp", value },
    ]);
    await this.#act("key", keys);
  }

  /** Ends it. */
  async close() {
    this.socket?.close();
    this.child?.kill("SIGTERM");
    await this.ended;
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  #act(type, actions) {
    const parameters = type === "pointer" ? { parameters: { pointerType: "mouse" } } : {};
    return this.#ask("input.performActions", {
      context: this.context,
      actions: [{ type, id: type, actions, ...parameters }],
    });
  }

  #call(functionDeclaration, given) {
    return this.#ask("script.callFunction", {
      functionDeclaration,
      arguments: given,
      target: { context: this.context },
      awaitPromise: true,
    });
  }

  #ask(method, params) {
    const id = (this.#next += 1);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.socket.send(JSON.stringify({ id, method, params }));
    });
  }

  #receive(message) {
    if (message.method === "log.entryAdded" && message.params.level === "error")
      this.complaints.push(message.params.text);
    const waiting = this.#waiting.get(message.id);
    if (waiting === undefined) return;
    this.#waiting.delete(message.id);
    if (message.type === "success") waiting.resolve(message.result);
    else waiting.reject(new Error(`${message.error}: ${message.message}`));
  }
}

const FIND = `(selector, words) =>
  [...document.querySelectorAll(selector)].find((each) => each.innerText.includes(words) && each.checkVisibility())`;

function local(value) {
  return typeof value === "number" ? { type: "number", value } : { type: "string", value: String(value) };
}
