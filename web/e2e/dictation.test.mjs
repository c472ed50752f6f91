// Dictation in a real browser, from the microphone to the sent prompt, with the real engine; and everything that can
// go wrong with it. The one rule that is looked for everywhere: the text that was there stays as it was.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { findings } from "./axe.mjs";
import { cannotSpeak, giveEngine, recognisers, share, speaking } from "./speaking.mjs";
import { begin, card, Host, launch, open, say, turnEnds } from "./stage.mjs";

const PROMPT = "run the tests and show me what fails";
/** A loaded machine needs time to understand. */
const PATIENCE = { timeout: 60_000 };

const interim = (page) => page.locator(".dictation .interim:not(:has(.faint))");

/** Waits until something was understood and nothing has been said for a while: all of it was spoken. */
const spokenOut = async (page) => {
  await interim(page).waitFor(PATIENCE);
  await page.evaluate(() => {
    window.quietSince = null;
  });
  await page.waitForFunction(
    () => {
      const quiet = Number(document.querySelector(".meter")?.getAttribute("aria-valuenow")) < 5;
      window.quietSince = quiet ? (window.quietSince ?? performance.now()) : null;
      return quiet && performance.now() - window.quietSince > 1_500;
    },
    undefined,
    PATIENCE,
  );
};

const changed = async (field, before) => {
  const element = await field.elementHandle();
  await field.page().waitForFunction(([found, text]) => found.value !== text, [element, before], PATIENCE);
  return field.inputValue();
};

/** Browsers, closed whatever happened in between. */
class Browsers {
  #open = [];

  async with(coming) {
    const browser = await coming;
    this.#open.push(browser);
    return browser;
  }

  async close() {
    for (const browser of this.#open.splice(0)) await browser.close();
  }
}

describe("dictation", { skip: cannotSpeak() }, () => {
  const host = new Host();
  let browser;
  let page;
  let watched;
  let field;
  before(async () => {
    giveEngine(host);
    const link = await host.start();
    browser = await speaking(PROMPT);
    watched = await open(browser, link);
    page = watched.page;
    page.setDefaultTimeout(60_000);
    field = page.getByLabel("Prompt", { exact: true });
    await begin(page, host.folder);
  });
  after(async () => {
    await browser?.close();
    await host.stop();
  });

  const listen = async () => {
    await page.getByRole("button", { name: "Dictate" }).click();
    await interim(page).waitFor(PATIENCE);
  };

  it("goes from the microphone to the sent prompt, and what is not final is not in the text", async () => {
    await field.fill("Please , thank you");
    await field.evaluate((element) => element.setSelectionRange(7, 7));
    await listen();
    assert.equal(await field.inputValue(), "Please , thank you");
    await spokenOut(page);
    assert.deepEqual(await findings(page, "listening"), []);
    await page.getByRole("button", { name: "Stop dictating" }).click();
    const text = await changed(field, "Please , thank you");
    assert.match(text, /^Please \S.*, thank you$/);
    assert.ok(share(PROMPT, text) >= 0.6, text);
    await page.locator(".dictation").waitFor({ state: "detached" });
    // The cursor is behind what was said, and all of it can be edited.
    await page.keyboard.type(" now");
    assert.match(await field.inputValue(), / now, thank you$/);
    await page.getByRole("button", { name: "Send", exact: true }).click();
    const sent = page.locator(".user-message").first();
    await sent.waitFor();
    assert.ok(share(PROMPT, await sent.innerText()) >= 0.6);
    await turnEnds(page);
  });

  it("shows how loud it is while one speaks", async () => {
    await page.getByRole("button", { name: "Dictate" }).click();
    await page.waitForFunction(() => Number(document.querySelector(".meter")?.getAttribute("aria-valuenow")) > 30);
    await page.keyboard.press("Escape");
    await page.locator(".dictation").waitFor({ state: "detached" });
  });

  it("listens for as long as its key is held", async () => {
    await field.fill("");
    await page.keyboard.down("Alt");
    await page.keyboard.down("m");
    await spokenOut(page);
    await page.keyboard.up("m");
    await page.keyboard.up("Alt");
    assert.ok(share(PROMPT, await changed(field, "")) >= 0.6);
    await field.fill("");
  });

  it("is taken back by Esc, and then nothing of it comes", async () => {
    await field.fill("as it was");
    await listen();
    await page.keyboard.press("Escape");
    await page.locator(".dictation").waitFor({ state: "detached" });
    // A whole dictation later, nothing of the one before has come.
    await page.getByRole("button", { name: "Dictate" }).click();
    await interim(page).waitFor(PATIENCE);
    assert.equal(await field.inputValue(), "as it was");
    await page.locator(".dictation").getByRole("button", { name: "Cancel" }).click();
    await page.locator(".dictation").waitFor({ state: "detached" });
    assert.equal(await field.inputValue(), "as it was");
  });

  it("loses nothing but the utterance when the engine is killed, and works the next time", async () => {
    await field.fill("as it was");
    await listen();
    const running = recognisers(host);
    assert.ok(running.length > 0);
    for (const pid of running) process.kill(pid, "SIGKILL");
    const alert = page.locator(".dictation [role=alert]");
    await alert.waitFor();
    assert.match(await alert.innerText(), /\w+ \w+.*\.$/);
    assert.equal(await field.inputValue(), "as it was");
    assert.deepEqual(await findings(page, "engine killed"), []);
    await field.fill("");
    await listen();
    await page.getByRole("button", { name: "Stop dictating" }).click();
    assert.ok((await changed(field, "")).length > 0);
    await field.fill("");
  });

  it("says that the host went away", async () => {
    await field.fill("as it was");
    await listen();
    await host.kill();
    await page.locator(".dictation [role=alert]", { hasText: "The connection to the host broke" }).waitFor();
    assert.equal(await field.inputValue(), "as it was");
    await page.getByRole("button", { name: "Put away" }).click();
    await field.fill("");
    // Nobody is there, and it is said; then the host comes back and the next one waits for the connection.
    await page.getByRole("button", { name: "Dictate" }).click();
    await page.locator(".dictation .interim", { hasText: "Waiting for the host" }).waitFor();
    await page.locator(".dictation [role=alert]", { hasText: "The host is away" }).waitFor();
    await host.start();
    await listen();
    await page.keyboard.press("Escape");
  });

  it("is listed among the keys, and complains of nothing", async () => {
    await field.fill("");
    await page.locator(".timeline-scroll").press("?");
    await page.getByRole("dialog", { name: "Keys" }).getByText("hold to dictate").waitFor();
    await page.keyboard.press("Escape");
    assert.deepEqual(watched.complaints, []);
    assert.deepEqual(watched.outside, []);
  });
});

describe("a spoken answer on the desk", { skip: cannotSpeak() }, () => {
  const host = new Host();
  const browsers = new Browsers();
  let link;
  before(async () => {
    giveEngine(host);
    link = await host.start();
  });
  afterEach(() => browsers.close());
  after(() => host.stop());

  const asked = async (browser, prompt) => {
    const { page, complaints } = await open(browser, link ?? (await host.link()));
    link = null;
    page.setDefaultTimeout(60_000);
    await begin(page, host.folder);
    await say(page, prompt);
    return { page, permission: await card(page), complaints };
  };
  const spoken = async (page, name) => {
    await page.locator(".desk .card").getByRole("button", { name }).first().click();
    await spokenOut(page);
    await page.getByRole("button", { name: "Stop dictating" }).click();
    await page.locator(".dictation").waitFor({ state: "detached" });
  };
  /** Whoever is not understood says it again. */
  const untilSeen = async (page, seen) => {
    for (let attempt = 0; attempt < 4; attempt += 1) {
      await spoken(page, "Say the answer");
      if (await seen.isVisible()) return;
      await page.locator(".desk .heard.unclear").waitFor();
    }
    assert.fail(`heard was ${await page.locator(".desk .heard").innerText()}`);
  };

  // The synthetic voice says no "deny" that can be understood; `spoken.test.ts` has all the words.
  it("denies with what should be done instead, once a key confirms it", async () => {
    const browser = await browsers.with(speaking("no, show me the file first"));
    const { page, permission, complaints } = await asked(browser, "bash");
    const reason = permission.getByLabel("What the model is told");
    await untilSeen(page, reason);
    assert.match(await reason.inputValue(), /^show .*file/i);
    await page.keyboard.press("Enter");
    await permission.waitFor({ state: "detached" });
    await turnEnds(page);
    await page
      .locator(".timeline")
      .getByText(/show .*file/i)
      .first()
      .waitFor();
    assert.deepEqual(complaints, []);
  });

  it("allows nothing by itself: a yes is shown, and a key confirms it", async () => {
    const browser = await browsers.with(speaking("yes, allow it"));
    const { page, permission } = await asked(browser, "bash");
    const heard = permission.locator(".heard.allow");
    await untilSeen(page, heard);
    assert.match(await heard.innerText(), /Heard “.*(yes|allow).*Press Allow/i);
    assert.deepEqual(await findings(page, "a yes that was heard"), []);
    // Nothing was decided: the question stands, here and for everybody.
    assert.equal(await page.locator(".desk .card .primary").isEnabled(), true);
    assert.equal(await page.locator(".turn-end").count(), 0);
    await page.keyboard.press("Enter");
    await permission.waitFor({ state: "detached" });
    await turnEnds(page);
  });

  it("is no answer where it is neither yes nor no", async () => {
    const browser = await browsers.with(speaking("the weather is nice in the mountains today"));
    const { page, permission } = await asked(browser, "bash");
    await spoken(page, "Say the answer");
    const heard = permission.locator(".heard.unclear");
    await heard.waitFor();
    assert.match(await heard.innerText(), /Say “allow”, or “deny”/);
    assert.equal(await permission.getByLabel("What the model is told").count(), 0);
    await permission.press("d");
    await permission.getByLabel("What the model is told").waitFor();
    await page.keyboard.press("Enter");
    await turnEnds(page);
  });

  it("is words of one's own for a question", async () => {
    const browser = await browsers.with(speaking("something completely different"));
    const { page, permission } = await asked(browser, "question");
    await spoken(page, /^Say the answer to/);
    assert.match(
      await permission
        .getByLabel(/^Another answer to/)
        .first()
        .inputValue(),
      /different/i,
    );
  });
});

describe("dictation that cannot be", () => {
  const host = new Host();
  const browsers = new Browsers();
  before(async () => {
    if (cannotSpeak() === false) giveEngine(host);
    await host.start();
  });
  afterEach(() => browsers.close());
  after(() => host.stop());

  const pressed = async (browser, address, options = {}) => {
    const { page } = await open(browser, address, options);
    page.setDefaultTimeout(60_000);
    await begin(page, host.folder);
    const field = page.getByLabel("Prompt", { exact: true });
    await field.fill("as it was");
    await page.getByRole("button", { name: "Dictate" }).click();
    const alert = page.locator(".dictation [role=alert]");
    await alert.waitFor();
    assert.equal(await field.inputValue(), "as it was");
    return { page, field, said: await alert.innerText() };
  };

  it("says what to do where the microphone is refused", { skip: cannotSpeak() }, async () => {
    const browser = await browsers.with(launch(["--use-fake-device-for-media-stream", "--deny-permission-prompts"]));
    const { page, said } = await pressed(browser, await host.link());
    assert.match(said, /does not let this page use the microphone\. Allow it/);
    assert.deepEqual(await findings(page, "refused"), []);
  });

  it("says that there is no microphone", { skip: cannotSpeak() }, async () => {
    const browser = await browsers.with(launch(["--use-fake-ui-for-media-stream", "--disable-audio-input"]));
    const { said } = await pressed(browser, await host.link());
    assert.match(said, /No microphone was found/);
  });

  it("says that a phone needs a secure page", async () => {
    const open = new Host({ flags: ["--set", "server.names=http://jackfield.test"] });
    const link = new URL(await open.start());
    const port = open.address.split(":")[1];
    const browser = await browsers.with(launch([`--host-resolver-rules=MAP jackfield.test 127.0.0.1:${port}`]));
    link.host = "jackfield.test";
    const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
    const { page, said } = await pressed(browser, link.href, phone);
    assert.match(said, /only to a secure page\. On a phone .* https: serve with TLS/);
    assert.deepEqual(await findings(page, "not secure"), []);
    await browsers.close();
    await open.stop();
  });

  it("says where an engine comes from, and where the sound of the browser's own goes before it is used", async () => {
    const bare = new Host();
    const link = await bare.start();
    const browser = await browsers.with(launch());
    const context = await browser.newContext();
    // The browser's real one would ask its maker.
    await context.addInitScript(() => {
      window.listened = 0;
      window.webkitSpeechRecognition = window.SpeechRecognition = class {
        start() {
          window.listened += 1;
          this.onstart();
          this.onresult({ results: [[{ transcript: "by the browser" }]] });
        }
        stop() {
          this.onend();
        }
        abort() {}
      };
    });
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(link);
    await begin(page, bare.folder);
    const field = page.getByLabel("Prompt", { exact: true });
    await page.getByRole("button", { name: "Dictate" }).click();
    await page.locator(".dictation [role=alert]", { hasText: "jackfield speech setup" }).waitFor();
    await page.locator(".dictation", { hasText: "it may go to the maker of the browser" }).waitFor();
    assert.equal(await page.evaluate(() => window.listened), 0);
    await page.getByRole("button", { name: "Use the browser's" }).click();
    await interim(page).waitFor();
    await page.locator(".dictation", { hasText: "The sound may go to the maker of this browser" }).waitFor();
    assert.equal(await field.inputValue(), "");
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    assert.equal(await changed(field, ""), "by the browser");
    await browsers.close();
    await bare.stop();
  });
});
