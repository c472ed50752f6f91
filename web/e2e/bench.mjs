// How fast the page is, in a real browser: `npm run bench`. It prints a table and judges nothing; the limits stand
// beside the figures for whoever reads it.
//
// The first load is measured over the real host; long sessions and fast streams are played by the stand-in, which can
// play them at any length and pace.
import { existsSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { Played, serve } from "../dev/stand-in.mjs";
import { begin, Host, launch, open, say, turnEnds } from "./stage.mjs";

const WORDS = "The quick brown fox jumps over **the lazy dog** and writes `code` about it. ";

function told(count) {
  const events = [];
  const event = (type, body) =>
    events.push({
      type,
      seq: events.length + 1,
      at: events.length,
      session_id: "s",
      turn: Math.floor(events.length / 40) + 1,
      ...body,
    });
  while (events.length < count) {
    const round = events.length;
    event("turn_started", { trigger: "prompt" });
    event("user_message", { text: `Prompt ${round}`, uuid: `u${round}` });
    const item_id = events.length + 1;
    for (let chunk = 0; chunk < 24; chunk += 1)
      event("message_chunk", { item_id, message_id: null, text: chunk % 6 === 5 ? `${WORDS}\n\n` : WORDS });
    event("item_ended", { item_id, outcome: "complete" });
    const shell = (output) => ({
      kind: "shell_exec",
      command: `make test-${round}`,
      work_dir: null,
      description: null,
      timeout: null,
      background: false,
      output,
    });
    event("tool_call", {
      tool_call_id: `t${round}`,
      tool_name: "Bash",
      tool_title: `$ make test-${round}`,
      tool_status: "running",
      normalized: shell(null),
      input: {},
    });
    event("tool_update", {
      tool_call_id: `t${round}`,
      tool_status: "complete",
      normalized: shell({ exit_code: 0, stdout: "ok\n".repeat(30), stderr: "" }),
      output: "ok",
    });
    event("complete", {
      data: {
        cost_usd: 0.01,
        total_cost_usd: 0.01,
        duration_ms: 1000,
        duration_api_ms: 900,
        num_turns: 1,
        input_tokens: 1,
        output_tokens: 1,
        cache_read_tokens: 0,
        cache_creation_tokens: 0,
        last_message_uuid: null,
        terminal_reason: null,
        permission_denials: [],
        structured_output: null,
      },
    });
  }
  // The last turn is whole.
  return events.slice(0, events.findLastIndex((event, at) => event.type === "complete" && at < count) + 1);
}

function stream(from, count) {
  const begun = [
    { type: "turn_started", trigger: "prompt", seq: from + 1, at: 0, turn: 9000 },
    { type: "user_message", text: "go", uuid: "go", seq: from + 2, at: 0, turn: 9000 },
  ];
  const chunks = Array.from({ length: count }, (_, at) => ({
    type: "message_chunk",
    item_id: from + 3,
    message_id: null,
    text: at % 40 === 39 ? ".\n\n" : "word ",
    seq: from + 3 + at,
    at: 0,
    turn: 9000,
  }));
  return [...begun, ...chunks];
}

/** Notes tasks that take long, and when the list of sessions can be used. */
const watch = () => {
  window.tasks = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.tasks.push(Math.round(entry.duration));
  }).observe({ type: "longtask", buffered: true });
  window.usable = new Promise((resolve) => {
    const look = () => {
      if (document.querySelector(".session-row") === null) return requestAnimationFrame(look);
      resolve(Math.round(performance.now()));
    };
    look();
  });
};
const longest = (page) => page.evaluate(() => Math.max(0, ...window.tasks.splice(0)));
/** Browsers tell only of tasks over 50 ms. */
const taskWords = (milliseconds) => (milliseconds === 0 ? "none over 50 ms" : `${milliseconds} ms`);
const median = (figures) => [...figures].sort((a, b) => a - b)[Math.floor(figures.length / 2)];

const rows = [];
const note = (what, value, limit, also = "") => {
  rows.push([what, value, limit, also]);
  console.error(`${what}: ${value} ${also}`);
};

/** The page's own files before anything that is loaded when it is wanted. */
function sizes() {
  const dist = new URL("../dist/", import.meta.url);
  const html = readFileSync(new URL("index.html", dist), "utf8");
  const first = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map((match) => match[1]);
  const bytes = [...first, "index.html"].reduce(
    (sum, name) => sum + gzipSync(readFileSync(new URL(name, dist))).length,
    0,
  );
  note("files before lazy parts, gzip", `${Math.round(bytes / 1024)} KB`, "350 KB", `${first.length + 1} files`);
}

/** Over the real host: a browser that was never here, and one that was. */
async function firstLoad(browser) {
  const release = new URL("../../target/release/jackfield", import.meta.url).pathname;
  if (existsSync(release)) process.env.JACKFIELD ??= release;
  const host = new Host();
  const opened = await open(browser, await host.start());
  await begin(opened.page, host.folder);
  await say(opened.page, "think");
  await turnEnds(opened.page);
  await opened.context.close();
  const [fresh, again, tasks] = [[], [], []];
  for (let round = 0; round < 7; round += 1) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 820 }, serviceWorkers: "block" });
    const page = await context.newPage();
    await page.addInitScript(watch);
    await page.goto(await host.link());
    fresh.push(await page.evaluate(() => window.usable));
    tasks.push(await longest(page));
    await page.reload();
    again.push(await page.evaluate(() => window.usable));
    await context.close();
  }
  note(
    "first load until the list can be used (with the login)",
    `${median(fresh)} ms`,
    "300 ms",
    `slowest of ${fresh.length}: ${Math.max(...fresh)} ms; longest task ${taskWords(median(tasks))}`,
  );
  note("a reload until the list can be used", `${median(again)} ms`, "300 ms", `slowest: ${Math.max(...again)} ms`);
  return host;
}

/** A long session of the real host, which sends its last screen first and the rest when it is wanted. */
async function longSession(browser, host) {
  const making = await open(browser, await host.link());
  await begin(making.page, host.folder);
  await say(making.page, "flood 1800");
  await making.page.locator(".turn-end").waitFor({ timeout: 300_000 });
  const seq = await making.page.evaluate(async () => {
    const headers = { "x-jackfield-key": sessionStorage.getItem("jackfield.key") };
    return (await (await fetch("/api/sessions?limit=1", { headers })).json()).sessions[0].seq;
  });
  await making.context.close();
  const context = await browser.newContext({ viewport: { width: 1280, height: 820 } });
  const page = await context.newPage();
  await page.addInitScript(watch);
  await page.goto(await host.link());
  const session = { title: "flood", told: { length: seq } };
  await opens(page, session);
  await scrolls(page, session);
  await context.close();
}

/** Opens a session from the list; how long until its end is drawn. */
async function opens(page, session, how = "") {
  await page.locator(".session-row", { hasText: session.title }).waitFor();
  const took = await page.evaluate(
    ({ title, end }) =>
      new Promise((resolve) => {
        const row = [...document.querySelectorAll(".session-row")].find((each) => each.innerText.includes(title));
        const begun = performance.now();
        row.click();
        const look = () =>
          document.querySelector(end === null ? ".row .turn-end" : `.row[data-seq="${end}"] .turn-end`)
            ? resolve(Math.round(performance.now() - begun))
            : requestAnimationFrame(look);
        look();
      }),
    // The end of the last turn is drawn when everything is there.
    { title: session.title, end: session.told.findLast?.((event) => event.type === "complete").seq ?? null },
  );
  const limit = session.told.length > 1_000 ? "1,500 ms" : "–";
  note(
    `a session of ${session.told.length} events opens${how}`,
    `${took} ms`,
    limit,
    `longest task ${taskWords(await longest(page))}`,
  );
}

async function scrolls(page, session) {
  const frame = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const box = document.querySelector(".timeline-scroll");
        const frames = [];
        let [step, last] = [0, performance.now()];
        const next = () => {
          const now = performance.now();
          frames.push(now - last);
          last = now;
          if (step >= 240) return resolve(Math.round(Math.max(...frames)));
          step += 1;
          box.scrollTop = step % 60 === 0 ? Math.random() * box.scrollHeight : Math.max(0, box.scrollTop - 300);
          requestAnimationFrame(next);
        };
        requestAnimationFrame(next);
      }),
  );
  const task = await longest(page);
  note(`scrolling ${session.told.length} events, longest task`, taskWords(task), "100 ms", `longest frame ${frame} ms`);
}

/** 500 pieces of text a second for six seconds. */
async function streams(page, host, session) {
  await page.locator(".timeline-scroll").evaluate((box) => {
    box.scrollTop = 0;
  });
  await page.getByRole("button", { name: /new|Latest/ }).click();
  session.pace = 10;
  host.play(session, 5);
  await page.waitForFunction(() => document.querySelector(".timeline")?.innerText.includes("word"));
  await page.evaluate(() => window.tasks.splice(0));
  const lag = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const frames = [];
        let last = performance.now();
        const begun = last;
        const next = () => {
          const now = performance.now();
          frames.push(now - last);
          last = now;
          if (now - begun > 6_000) return resolve({ many: frames.length, longest: Math.round(Math.max(...frames)) });
          requestAnimationFrame(next);
        };
        requestAnimationFrame(next);
      }),
  );
  const task = await longest(page);
  note(
    `500 deltas a second behind ${session.told.length} events, longest task`,
    taskWords(task),
    "50 ms",
    `${Math.round(lag.many / 6)} frames a second, longest ${lag.longest} ms`,
  );
}

const browser = await launch();
try {
  sizes();
  const real = await firstLoad(browser);
  await longSession(browser, real);
  await real.stop();
  const played = (title, count) => {
    const said = told(count);
    return new Played({ id: title, title, told: said, coming: stream(said.length, 5_000), pace: 0 });
  };
  const [long, short] = [played("long", 100_029), played("short", 100)];
  const host = await serve([long, short]);
  const page = await browser.newPage({ viewport: { width: 1280, height: 820 } });
  await page.addInitScript(watch);
  await page.goto(host.link);
  for (const session of [short, long]) {
    await opens(page, session, ", every event sent and folded");
    await scrolls(page, session);
    await streams(page, host, session);
  }
  host.stop();
} finally {
  await browser.close();
}
console.log("| what | figure | limit | beside it |\n|---|---|---|---|");
for (const row of rows) console.log(`| ${row.join(" | ")} |`);
