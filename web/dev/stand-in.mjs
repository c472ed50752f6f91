// A small stand-in for the host: it serves the built page under the host's own policy and plays events that it is
// given, over the frames of the contract. For looking at recordings, for hostile texts and for measuring; it keeps
// nothing and does nothing. The one rule it keeps: what it sends is what the contract says.
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { WebSocketServer } from "ws";

const dist = new URL("../dist", import.meta.url).pathname;

/** The policy of S16, with the manifest of the installable page. */
export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
  "font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'";

const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json",
};

/** A session that plays events: `told` at once to whoever comes, `coming` one by one every `pace` milliseconds. */
export class Played {
  constructor({ id, title, told = [], coming = [], pace = 15, snapshot = null }) {
    Object.assign(this, {
      id,
      title,
      told: [],
      coming,
      pace,
      snapshot,
      watchers: new Set(),
      pending: [],
      state: "idle",
    });
    this.at = Date.now();
    this.next = 0;
    for (const event of told) this.#take(event);
  }

  summary() {
    const last = this.told.at(-1);
    return {
      session_id: this.id,
      title: this.title,
      cwd: "/ws/project",
      agent: "claude",
      model: "claude-sonnet-4-5",
      permission_mode: "default",
      state: this.state,
      pending: this.pending,
      queued: 0,
      seq: last?.seq ?? 0,
      turn: last?.turn ?? null,
      created_at: this.at,
      updated_at: this.at,
      running_since: null,
      archived: false,
      total_cost_usd: 0,
      max_budget_usd: null,
      context_window: null,
      cli_session_id: null,
      last_message_uuid: null,
      preview: "",
      last_error: null,
      trusted: true,
      forked_from: null,
    };
  }

  #take(event) {
    this.told.push({ ...event, session_id: this.id });
    if (event.type === "permission_request") this.pending.push(event);
    if (/^permission_(resolved|cancelled)$/.test(event.type))
      this.pending = this.pending.filter((each) => each.pending_id !== event.pending_id);
    if (event.type === "turn_started") this.state = "running";
    if (event.type === "complete") this.state = "idle";
  }

  /** Goes on with what is coming, `batch` events at a time. */
  play(everyone, batch = 1) {
    if (this.timer) return;
    this.timer = setInterval(() => {
      const events = this.coming.slice(this.next, this.next + batch);
      this.next += batch;
      if (events.length === 0) return clearInterval(this.timer);
      for (const event of events) this.#take(event);
      for (const send of this.watchers)
        send({
          type: "events",
          session_id: this.id,
          events: events.map((event) => ({ ...event, session_id: this.id })),
        });
      if (events.some((event) => /permission|turn_started|complete/.test(event.type)))
        everyone({ type: "sessions", sessions: [this.summary()] });
    }, this.pace);
  }
}

/** Serves sessions; gives the link and what ends it. */
export function serve(sessions, port = 0) {
  const byId = new Map(sessions.map((session) => [session.id, session]));
  const sockets = new Set();
  const everyone = (frame) => {
    for (const socket of sockets) socket.send(JSON.stringify(frame));
  };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://page");
    const json = (value, status = 200) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    if (pathname === "/api/login") return json({ key: "stand-in" });
    if (pathname === "/api/settings")
      return json({ version: "stand-in", agents: [], home: "/ws", bypass_allowed: false, rate_limits: [] });
    if (pathname.startsWith("/api/"))
      return json({ error: { code: "not_found", reason: "the stand-in does not know this" } }, 404);
    const path = join(dist, pathname);
    const file = extname(pathname) !== "" && existsSync(path) ? path : join(dist, "index.html");
    response.writeHead(200, {
      "content-type": TYPES[extname(file)] ?? "application/octet-stream",
      "content-security-policy": POLICY,
    });
    response.end(readFileSync(file));
  });
  new WebSocketServer({ server, path: "/api/socket" }).on("connection", (socket) => {
    const send = (frame) => socket.send(JSON.stringify(frame));
    sockets.add(socket);
    socket.on("close", () => {
      sockets.delete(socket);
      for (const session of sessions) session.watchers.delete(send);
    });
    socket.on("message", (data) => {
      const frame = JSON.parse(data);
      const session = byId.get(frame.session_id);
      if (frame.type === "hello")
        send({
          type: "hello",
          version: 1,
          server_version: "stand-in",
          host_id: "stand-in",
          scope: "admin",
          capabilities: [],
        });
      else if (frame.type === "watch") send({ type: "sessions", sessions: sessions.map((each) => each.summary()) });
      else if (frame.type === "subscribe" && session) subscribe(session, frame.after ?? 0, send, everyone);
      else if (frame.type === "unsubscribe" && session) session.watchers.delete(send);
      else if (frame.type === "command") send({ type: "accepted", id: frame.id, reply: { type: "done" } });
    });
  });
  return new Promise((resolve) => {
    server.listen(port, "127.0.0.1", () => {
      const link = `http://127.0.0.1:${server.address().port}/#ticket=stand-in`;
      const stop = () => {
        for (const session of sessions) clearInterval(session.timer);
        for (const socket of sockets) socket.terminate();
        server.closeAllConnections();
        server.close();
      };
      resolve({ link, stop, play: (session, batch) => session.play(everyone, batch) });
    });
  });
}

function subscribe(session, after, send, everyone) {
  if (session.snapshot && after === 0)
    send({ type: "snapshot", session_id: session.id, snapshot: session.snapshot, earlier: true });
  const seen = session.snapshot && after === 0 ? session.snapshot.seq : after;
  const missed = session.told.filter((event) => event.seq > seen);
  // In batches, as the host does.
  for (let at = 0; at < missed.length; at += 500)
    send({ type: "events", session_id: session.id, events: missed.slice(at, at + 500) });
  send({ type: "current", session_id: session.id, seq: session.told.at(-1)?.seq ?? 0 });
  session.watchers.add(send);
  if (session.pace > 0) session.play(everyone);
}
