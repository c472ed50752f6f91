// How fast the page is, in a real browser: `npm run bench`. It prints figures, one JSON object per line, and judges
// nothing; what is wanted is written in the issue and compared by whoever runs it.
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { Played, serve } from "../dev/stand-in.mjs";
import { launch } from "./stage.mjs";

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
  return events.slice(0, count);
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

const watchTasks = () => {
  window.tasks = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.tasks.push(Math.round(entry.duration));
  }).observe({ type: "longtask", buffered: true });
};
const longest = (page) => page.evaluate(() => Math.max(0, ...window.tasks.splice(0)));

const browser = await launch();
const say = (figures) => console.log(JSON.stringify(figures));
try {
  const dist = new URL("../dist/", import.meta.url);
  const html = readFileSync(new URL("index.html", dist), "utf8");
  const first = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map((match) => match[1]);
  say({
    what: "bytes before lazy parts, gzip",
    value: first
      .concat("index.html")
      .reduce((sum, name) => sum + gzipSync(readFileSync(new URL(name, dist))).length, 0),
    files: first.length + 1,
  });
  say({
    what: "bytes of the whole build",
    value: readdirSync(new URL("assets", dist)).reduce(
      (sum, name) => sum + readFileSync(new URL(`assets/${name}`, dist)).length,
      0,
    ),
  });

  const long = new Played({ id: "long", title: "long", told: told(100_000), coming: stream(100_000, 5_000), pace: 0 });
  const short = new Played({ id: "short", title: "short", told: told(80), coming: stream(80, 5_000), pace: 0 });
  const host = await serve([long, short]);
  const page = await browser.newPage({ viewport: { width: 1280, height: 820 } });
  await page.addInitScript(watchTasks);

  for (let round = 0; round < 3; round += 1) {
    const begun = performance.now();
    await page.goto("about:blank");
    await page.goto(host.link);
    await page.locator(".session-row").first().waitFor();
    say({
      what: "first load until the list can be used, ms (with the test driver's own time)",
      value: Math.round(performance.now() - begun),
      longest_task: await longest(page),
    });
  }

  for (const session of [short, long]) {
    await page.locator(".session-row", { hasText: session.title }).click();
    const opened = await page.evaluate(
      () =>
        new Promise((resolve) => {
          const begun = performance.now();
          const look = () =>
            document.querySelector(".row .turn-end")
              ? resolve(Math.round(performance.now() - begun))
              : requestAnimationFrame(look);
          look();
        }),
    );
    say({
      what: `a session of ${session.told.length} events opens (all of them sent), ms`,
      value: opened,
      longest_task: await longest(page),
    });

    const scroll = await page.evaluate(
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
    say({
      what: `scrolling ${session.told.length} events, longest frame, ms`,
      value: scroll,
      longest_task: await longest(page),
    });

    await page.getByRole("button", { name: /new|Latest/ }).click();
    session.pace = 10;
    host.play(session, 5);
    await page.waitForFunction(() => document.querySelector(".timeline")?.innerText.includes("word"));
    await page.evaluate(() => window.tasks.splice(0));
    await page.waitForFunction(() => window.tasks.length > 1_000 || performance.now() > 0, null, { timeout: 1_000 });
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
            if (now - begun > 6_000)
              return resolve({ frames: frames.length, longest: Math.round(Math.max(...frames)) });
            requestAnimationFrame(next);
          };
          requestAnimationFrame(next);
        }),
    );
    say({
      what: `500 deltas a second behind ${session.told.length} events, for 6 s`,
      ...lag,
      longest_task: await longest(page),
    });
  }
  host.stop();
} finally {
  await browser.close();
}
