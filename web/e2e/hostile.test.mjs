// Texts that want to do harm, in every place where a text of the model or of a tool is drawn (S16 to S19).
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Played, serve } from "../dev/stand-in.mjs";
import { HOSTILE } from "../test/hostile.mjs";
import { launch, open } from "./stage.mjs";

const BIDI = "rm -rf \u202e/emoh/\u2066 \u200bsafe";
const ANSI = `\u001b]52;c;aGk=\u0007\u001b]8;;javascript:window.hit('ansi')\u001b\\link\u001b]8;;\u001b\\ <img src=x onerror="window.hit('output')">`;
const LONG = `echo ${"x".repeat(100_000)} && rm -rf / # the end`;

function events() {
  let seq = 0;
  const event = (type, body) => ({ type, seq: (seq += 1), at: seq, session_id: "s", turn: 1, ...body });
  const shell = (command, output = null) => ({
    kind: "shell_exec",
    command,
    work_dir: null,
    description: HOSTILE.slice(0, 60),
    timeout: null,
    background: false,
    output,
  });
  const tool = (id, name, normalized) => [
    event("tool_call", {
      tool_call_id: id,
      tool_name: name,
      tool_title: `<img src=x onerror="window.hit('title')"> ${name}`,
      tool_status: "running",
      normalized,
      input: {},
    }),
    event("tool_update", { tool_call_id: id, tool_status: "complete", normalized, output: HOSTILE }),
  ];
  const file = {
    kind: "modify_file",
    file_path: "<script>window.hit('path')</script>.html",
    mutations: [{ type: "edit", content: null, old_content: "a", new_content: HOSTILE + BIDI, diff: null }],
  };
  const told = [event("turn_started", { trigger: "prompt" }), event("user_message", { text: HOSTILE, uuid: "u" })];
  const said = event("message_chunk", { item_id: seq + 1, message_id: null, text: HOSTILE });
  told.push(said, event("item_ended", { item_id: said.item_id, outcome: "complete" }));
  const thought = event("reasoning", { item_id: seq + 1, message_id: null, reasoning_text: HOSTILE });
  told.push(thought, event("item_ended", { item_id: thought.item_id, outcome: "complete" }));
  told.push(...tool("t1", "Bash", shell(BIDI, { exit_code: 0, stdout: ANSI, stderr: HOSTILE })));
  told.push(...tool("t2", "Edit", file));
  told.push(
    ...tool("t3", "WebFetch", {
      kind: "http_request",
      url: "javascript:window.hit('url')",
      method: "GET",
      response: HOSTILE,
      is_error: false,
    }),
  );
  told.push(...tool("t4", "mcp__x__y", { kind: "generic", name: "y", input: { a: HOSTILE }, output: HOSTILE }));
  told.push(
    ...tool("t5", "TodoWrite", {
      kind: "manage_todos",
      operation: "write",
      items: [{ id: "1", description: HOSTILE, status: "pending" }],
    }),
  );
  told.push(event("notice", { level: "warning", text: HOSTILE }), event("error", { error: HOSTILE, code: "x" }));
  const ask = (kind, body) => {
    const request = event("permission_request", {
      kind,
      tool_call_id: null,
      tool_name: "Bash",
      tool_title: HOSTILE.slice(0, 80),
      normalized: null,
      input: null,
      suggestions: [],
      reason: HOSTILE.slice(0, 90),
      ...body,
    });
    return { ...request, pending_id: request.seq };
  };
  told.push(ask("tool", { normalized: shell(`${BIDI}\n${LONG}`), input: { command: `${BIDI}\n${LONG}` } }));
  told.push(ask("plan", { plan: HOSTILE }));
  told.push(
    ask("question", {
      questions: [
        {
          question: HOSTILE,
          header: "<b>x</b>",
          multi_select: false,
          options: [{ label: HOSTILE.slice(0, 50), description: HOSTILE }],
        },
      ],
    }),
  );
  return told;
}

describe("a hostile document", () => {
  const session = new Played({ id: "s", title: `<img src=x onerror="window.hit('list')">`, told: events(), pace: 0 });
  let browser;
  let host;
  let watched;
  before(async () => {
    host = await serve([session]);
    browser = await launch();
    watched = await open(browser, host.link, { viewport: { width: 1280, height: 12_000 } });
    // A reload in the middle of the login would leave it outside.
    await watched.page.locator(".session-row").waitFor();
    await watched.page.addInitScript(() => {
      window.hits = [];
      window.hit = (what) => window.hits.push(what);
    });
    await watched.page.reload();
  });
  after(async () => {
    await browser?.close();
    host?.stop();
  });

  it("runs nothing and asks nobody, drawn as text, thought, tools, notices and questions", async () => {
    const { page, outside, complaints } = watched;
    await page.locator(".session-row").click();
    await page.locator(".desk .card[data-answerable=true]").waitFor();
    const closed = page.locator(".tool-head[aria-expanded=false], .thought-head[aria-expanded=false]");
    for (let left = await closed.count(); left > 0; left = await closed.count()) await closed.first().click();
    for (let kind = 0; kind < 2; kind += 1) {
      await page.getByRole("button", { name: "The next question" }).click();
      await page.locator(".desk .card[data-answerable=true]").waitFor();
    }
    await page.locator(".prose").first().waitFor();
    assert.deepEqual(await page.evaluate(() => window.hits), []);
    assert.deepEqual(outside, []);
    assert.deepEqual(complaints, []);
    const bad = await page.evaluate(() => ({
      elements: document.querySelectorAll(
        "#page :is(script, iframe, style, object, embed, base, form[action], img:not([src^='/icon']))",
      ).length,
      links: [...document.querySelectorAll("#page a")]
        .map((link) => link.getAttribute("href"))
        .filter((href) => !/^(https?:|mailto:|\/)/.test(href)),
    }));
    assert.deepEqual(bad, { elements: 0, links: [] });
  });

  it("shows on the desk the whole of what will run, and what hides in it", async () => {
    const { page } = watched;
    for (let kind = 0; kind < 2; kind += 1) await page.getByRole("button", { name: "The question before" }).click();
    const command = page.locator(".desk .command.whole");
    await command.waitFor();
    const shown = await command.innerText();
    for (const name of ["U+202E", "U+2066", "U+200B"]) assert.ok(shown.includes(name), name);
    assert.ok(shown.includes(LONG), "the whole of a long command is there");
    const reachable = await command.evaluate((box) => {
      box.scrollTop = box.scrollHeight;
      return box.scrollTop + box.clientHeight >= box.scrollHeight - 2;
    });
    assert.ok(reachable, "its end can be scrolled to");
  });
});
