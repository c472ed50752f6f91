// What the browser tests stand on: a real host with the demo agent in a private home, and Debian's Chromium.
//
// The one rule it keeps: nothing outside loopback is asked for, and everything that was started is ended by its pid.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

const require = createRequire(import.meta.url);
const { chromium } = require("playwright-core");
const root = new URL("../..", import.meta.url).pathname;

/** The host's program. */
export function program() {
  const places = process.env.JACKFIELD
    ? [process.env.JACKFIELD]
    : ["debug", "release"].map((kind) => join(root, "target", kind, "jackfield"));
  const found = places.find((place) => existsSync(place));
  if (!found) throw new Error("no jackfield: run `cargo build -p jackfield`, or name it in JACKFIELD");
  return found;
}

/** The real CLI of a version that the project pins; null if it is not there. */
export function cachedClaude(version) {
  const cache = process.env.JACKFIELD_CACHE ?? join(root, ".cache");
  const place = join(cache, "claude", version, "claude");
  return existsSync(place) ? place : null;
}

/** The browser's program. */
export function browserProgram() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const names = ["chromium", "chromium-browser", "google-chrome"];
  const places = (process.env.PATH ?? "").split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)));
  const found = places.find((place) => existsSync(place));
  if (!found) throw new Error("no Chromium: install Debian's `chromium`, or name the program in CHROMIUM");
  return found;
}

/** A browser; `flags` are added to its command line. */
export function launch(flags = []) {
  const asRoot = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: browserProgram(), args: [...asRoot, ...flags] });
}

/** For a host whose demo agent need not be seen at work. */
export const FAST = { JACKFIELD_DEMO_SPEED: "10" };

/** A host on a data folder of its own, in a home of its own or another one's; `flags` and `variables` go to it. */
export class Host {
  constructor({ flags = [], variables = {}, home = null } = {}) {
    this.flags = flags;
    this.variables = variables;
    this.home = home ?? mkdtempSync(join(tmpdir(), "jackfield-page-"));
    this.data = mkdtempSync(join(this.home, "data-"));
    this.folder = mkdtempSync(join(this.home, "project-"));
    this.address = "127.0.0.1:0";
  }

  #serve() {
    const command = ["serve", "--no-open", "--data", this.data, "--listen", this.address, ...this.flags];
    const environment = { HOME: this.home, PATH: "/usr/bin:/bin", ...this.variables };
    return spawn(program(), command, { env: environment, cwd: this.home, stdio: ["ignore", "pipe", "pipe"] });
  }

  /** Starts it, or starts it again where it was; gives a link. */
  async start() {
    this.child = this.#serve();
    this.ended = new Promise((resolve) => this.child.once("exit", resolve));
    const { link, address } = await firstLink(this.child);
    this.address = address ?? this.address;
    return link;
  }

  /** Another link of the running host. */
  async link() {
    const child = this.#serve();
    const { link } = await firstLink(child);
    await new Promise((resolve) => child.once("exit", resolve));
    return link;
  }

  /** Ends it at once, without a word. */
  async kill() {
    this.child.kill("SIGKILL");
    await this.ended;
  }

  /** Ends it in order. */
  async end() {
    this.child?.kill("SIGTERM");
    await this.ended;
  }

  /** Ends it and removes what it left. */
  async stop() {
    await this.end();
    rmSync(this.home, { recursive: true, force: true, maxRetries: 3 });
  }
}

function firstLink(child) {
  return new Promise((resolve, reject) => {
    let said = "";
    const hear = (data) => {
      said += data;
      const link = /http:\/\/\S+#ticket=[\w-]+/.exec(said)?.[0];
      if (link) resolve({ link, address: /listening on ([\d.:]+)/.exec(said)?.[1] });
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.once("exit", (code) => reject(new Error(`the host ended with ${code}: ${said}`)));
  });
}

/** A page that fails the test on any script error or refused resource, and counts requests to elsewhere. */
export async function open(browser, link, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(40_000);
  const complaints = [];
  const outside = [];
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("console", (message) => {
    const text = message.text();
    // A host that is away is what some tests are about; the browser reports it by itself.
    if (message.type() === "error" && !/WebSocket connection|Failed to load resource|ERR_/.test(text))
      complaints.push(text);
  });
  page.on("request", (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (protocol.startsWith("http") && hostname !== "127.0.0.1") outside.push(request.url());
  });
  await page.goto(link);
  return { page, context, complaints, outside };
}

/** Begins a session with the demo agent by the page's own means. */
export async function begin(page, folder) {
  const before = page.url();
  await page.getByRole("button", { name: "New session" }).first().click();
  const dialog = page.getByRole("dialog", { name: "New session" });
  await dialog.getByText("Demo agent", { exact: true }).click();
  await chooseFolder(dialog, folder);
  await dialog.getByRole("button", { name: "Begin" }).click();
  const refused = dialog.getByRole("alert");
  await page
    .waitForURL((url) => url.href !== before && url.pathname.includes("/s/"))
    .catch(async (error) => {
      const said = (await refused.isVisible()) ? await refused.innerText() : await dialog.innerText();
      throw new Error(`no session was begun: ${said}`, { cause: error });
    });
  await page.getByText("What shall be done in").waitFor();
  return page.url();
}

/** Writes a folder into the dialog for a new session. */
export async function chooseFolder(dialog, folder) {
  // What stands in the field at first comes with the list of folders.
  await dialog.locator(".folders").waitFor();
  await dialog.getByLabel("Folder", { exact: true }).fill(folder);
}

/** Says something in the session that is open. */
export async function say(page, words) {
  await page.getByLabel("Prompt", { exact: true }).fill(words);
  await page.getByRole("button", { name: "Send", exact: true }).click();
}

/** Waits until the turn is over. */
export async function turnEnds(page, count = 1) {
  await page
    .locator(".turn-end")
    .nth(count - 1)
    .waitFor({ timeout: 60_000 });
}

/** The card on the desk, once keys and buttons work on it. */
export async function card(page) {
  const found = page.locator(".desk .card[data-answerable=true]");
  await found.waitFor();
  return found;
}

/** What a conversation says, without what depends on the moment. */
export async function conversation(page) {
  const texts = await page.locator(".timeline .row").allInnerTexts();
  return texts.filter((text) => text.trim() !== "" && !text.includes("New since"));
}
