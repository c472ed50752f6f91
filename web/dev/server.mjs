// A small stand-in for the host, to look at the page with recordings: `npm run build && npm run dev`, then open the
// link that it prints. It speaks the frames of the contract and plays events of `jackfield replay`; it keeps nothing.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { WebSocketServer } from "ws";

const root = new URL("..", import.meta.url).pathname;
const program = process.env.JACKFIELD ?? join(root, "../target/debug/jackfield");
const port = Number(process.env.PORT ?? 4177);
const pace = Number(process.env.PACE ?? 15);

export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
  "font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'";

const wanted = process.argv.slice(2);
const names = wanted.length > 0 ? wanted : ["basic/partial_all_blocks", "tools/bash_ok", "permission/default_allow", "tools/subagent_sync"];

/** A session that plays a recording, or many made-up events. */
class Session {
  constructor(id, title, events) {
    this.id = id;
    this.title = title;
    this.all = events;
    this.told = [];
    this.watchers = new Set();
    this.pending = [];
    this.at = Date.now();
  }

  summary() {
    const last = this.told.at(-1);
    return {
      session_id: this.id, title: this.title, cwd: "/home/ada/project", agent: "claude", model: "claude-sonnet-4-5",
      permission_mode: "default", state: this.state ?? "idle", pending: this.pending, queued: 0, seq: last?.seq ?? 0,
      turn: last?.turn ?? null, created_at: this.at, updated_at: this.at, running_since: this.state === "running" ? this.at : null,
      archived: false, total_cost_usd: 0.0421, max_budget_usd: null, context_window: null, cli_session_id: null,
      last_message_uuid: null, preview: "", last_error: null, trusted: true, forked_from: null,
    };
  }

  play() {
    if (this.timer) return;
    const step = () => {
      const next = this.all[this.told.length];
      if (!next) return;
      this.tell({ ...next, session_id: this.id, at: this.at + next.at });
      this.timer = setTimeout(step, next.type === "permission_request" ? 3_600_000 : pace);
    };
    step();
  }

  tell(event) {
    this.told.push(event);
    if (event.type === "permission_request") this.pending.push(event);
    if (event.type.startsWith("permission_") && event.type !== "permission_request") this.pending = this.pending.filter((each) => each.pending_id !== event.pending_id);
    if (event.type === "turn_started") this.state = "running";
    if (event.type === "complete") this.state = "idle";
    for (const watcher of this.watchers) watcher({ type: "events", session_id: this.id, events: [event] });
    if (/permission|turn_started|complete/.test(event.type)) everyone({ type: "sessions", sessions: [this.summary()] });
  }

  go() {
    clearTimeout(this.timer);
    this.timer = null;
    this.play();
  }
}

const sessions = new Map();
for (const [at, name] of names.entries()) {
  const file = join(root, "../fixtures/recordings", name, "transcript.jsonl");
  const lines = execFileSync(program, ["replay", "--format", "json", file], { encoding: "utf8", maxBuffer: 1 << 30 });
  const events = lines.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  sessions.set(`s${at}`, new Session(`s${at}`, name.split("/")[1].replaceAll("_", " "), events));
}

const sockets = new Set();
const everyone = (frame) => {
  for (const socket of sockets) socket.send(JSON.stringify(frame));
};

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".webmanifest": "application/manifest+json" };

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url, "http://page");
  const json = (value, status = 200) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(value));
  };
  if (pathname === "/api/login") return json({ key: "mock" });
  if (pathname === "/api/settings") return json({ version: "mock", agents: [{ agent: "claude", version: "2.1.325", problem: null }, { agent: "demo", version: "1", problem: null }], home: "/home/ada", bypass_allowed: false, rate_limits: [] });
  if (pathname === "/api/folders") return json({ path: "/home/ada", parent: "/home", folders: ["project", "notes", "thesis"], recent: ["/home/ada/project"] });
  if (pathname.startsWith("/api/")) return json({ error: { code: "not_found", reason: "the stand-in does not know this" } }, 404);
  const path = join(root, "dist", pathname);
  const file = extname(pathname) !== "" && existsSync(path) ? path : join(root, "dist/index.html");
  response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream", "content-security-policy": POLICY });
  response.end(readFileSync(file));
});

new WebSocketServer({ server, path: "/api/socket" }).on("connection", (socket) => {
  const send = (frame) => socket.send(JSON.stringify(frame));
  const own = new Map();
  sockets.add(socket);
  socket.on("close", () => {
    sockets.delete(socket);
    for (const [session, watcher] of own) session.watchers.delete(watcher);
  });
  socket.on("message", (data) => {
    const frame = JSON.parse(data);
    const session = sessions.get(frame.session_id);
    if (frame.type === "hello") send({ type: "hello", version: 1, server_version: "mock", host_id: "mock", scope: "admin", capabilities: [] });
    else if (frame.type === "watch") send({ type: "sessions", sessions: [...sessions.values()].map((each) => each.summary()) });
    else if (frame.type === "subscribe" && session) {
      const missed = session.told.filter((event) => event.seq > (frame.after ?? 0));
      if (missed.length > 0) send({ type: "events", session_id: session.id, events: missed });
      send({ type: "current", session_id: session.id, seq: session.told.at(-1)?.seq ?? 0 });
      own.set(session, send);
      session.watchers.add(send);
      session.play();
    } else if (frame.type === "unsubscribe" && session) {
      session.watchers.delete(own.get(session));
    } else if (frame.type === "command") {
      send({ type: "accepted", id: frame.id, reply: { type: "done" } });
      if (frame.command.type === "answer") session?.go();
    }
  });
});

server.listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}/#ticket=mock`));
