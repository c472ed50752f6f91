// The connection over sockets that a test holds in its hands: they break at any moment, and nothing is lost or doubled.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Connection, type Link, type Outcome, type Socket } from "../src/connection";
import type { ClientFrame, Command, Event, ServerFrame } from "../src/contract";

/** A socket whose other end is the test. */
class TestSocket implements Socket {
  onopen: Socket["onopen"] = null;
  onmessage: Socket["onmessage"] = null;
  onclose: Socket["onclose"] = null;
  readonly sent: ClientFrame[] = [];
  closed = false;

  send(text: string): void {
    this.sent.push(JSON.parse(text) as ClientFrame);
  }

  close(): void {
    this.closed = true;
  }

  says(frame: ServerFrame): void {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }

  breaks(code = 1006, reason = ""): void {
    this.onclose?.({ code, reason });
  }
}

const HELLO: ServerFrame = {
  type: "hello",
  version: 1,
  server_version: "t",
  host_id: "h",
  scope: "admin",
  capabilities: [],
};

function stage() {
  const sockets: TestSocket[] = [];
  const timers: { at: number; action: () => void }[] = [];
  const told: { links: Link[]; events: Event[]; snapshots: number[]; forgotten: number } = {
    links: [],
    events: [],
    snapshots: [],
    forgotten: 0,
  };
  let names = 0;
  const connection = new Connection(
    {
      open: () => {
        const socket = new TestSocket();
        sockets.push(socket);
        return socket;
      },
      after: (milliseconds, action) => {
        const timer = { at: milliseconds, action };
        timers.push(timer);
        return () => {
          const place = timers.indexOf(timer);
          if (place >= 0) timers.splice(place, 1);
        };
      },
      random: () => 0.5,
      now: () => 0,
      name: () => `n${(names += 1)}`,
    },
    () => ({ client: "test", key: "k" }),
    {
      link: (link) => told.links.push(link),
      session: (frame) => {
        if (frame.type === "events") told.events.push(...frame.events);
        if (frame.type === "snapshot") {
          told.snapshots.push(frame.snapshot.seq);
          told.events.length = 0;
        }
      },
      sessions: () => undefined,
      editor: () => undefined,
      dictation: () => undefined,
      anotherHost: () => {
        told.forgotten += 1;
      },
    },
  );
  const socket = () => sockets.at(-1) as TestSocket;
  const greet = (hello: ServerFrame = HELLO) => {
    socket().onopen?.();
    socket().says(hello);
  };
  const tick = () => timers.shift()?.action();
  connection.start();
  return { connection, sockets, timers, told, socket, greet, tick };
}

function event(seq: number): Event {
  return { type: "stderr", text: String(seq), seq, at: seq, session_id: "s", turn: null };
}

const events = (...seqs: number[]): ServerFrame => ({ type: "events", session_id: "s", events: seqs.map(event) });
const frames = (socket: TestSocket, type: ClientFrame["type"]) => socket.sent.filter((frame) => frame.type === type);

describe("the connection", () => {
  it("says hello with the key before anything else", () => {
    const { connection, socket, greet } = stage();
    connection.subscribe("s");
    void connection.command({ type: "interrupt" } as Command, "s");
    expect(socket().sent).toEqual([]);
    greet();
    expect(socket().sent.map((frame) => frame.type)).toEqual(["hello", "watch", "subscribe", "command"]);
    expect(socket().sent[0]).toEqual({ type: "hello", version: 1, client: "test", key: "k" });
  });

  it("asks behind its cursor after it broke, and hands on what it already had only once", () => {
    const { connection, socket, greet, tick, told } = stage();
    connection.subscribe("s");
    greet();
    socket().says(events(1, 2, 3));
    socket().breaks();
    tick();
    greet();
    expect(frames(socket(), "subscribe")).toEqual([{ type: "subscribe", session_id: "s", after: 3 }]);
    socket().says(events(2, 3, 4));
    expect(told.events.map((each) => each.seq)).toEqual([1, 2, 3, 4]);
  });

  it("never hands on what is behind a hole", () => {
    const { connection, socket, greet, told } = stage();
    connection.subscribe("s");
    greet();
    socket().says(events(1, 2));
    socket().says(events(5, 6));
    expect(told.events.map((each) => each.seq)).toEqual([1, 2]);
    expect(frames(socket(), "subscribe").at(-1)).toEqual({ type: "subscribe", session_id: "s", after: 2 });
  });

  it("repeats a command with the same id until it is answered, and settles it once", async () => {
    const { connection, socket, greet, tick } = stage();
    greet();
    const outcomes: Outcome[] = [];
    void connection.command({ type: "interrupt" } as Command, "s").then((outcome) => outcomes.push(outcome));
    const first = frames(socket(), "command");
    for (let time = 0; time < 3; time += 1) {
      socket().breaks();
      tick();
      greet();
      expect(frames(socket(), "command")).toEqual(first);
    }
    const id = (first[0] as { id: string }).id;
    socket().says({ type: "accepted", id, reply: { type: "done" } });
    socket().says({ type: "rejected", id, rejection: { code: "invalid", reason: "late" } });
    await Promise.resolve();
    expect(outcomes).toEqual([{ reply: { type: "done" } }]);
    expect(connection.unanswered).toBe(0);
    socket().breaks();
    tick();
    greet();
    expect(frames(socket(), "command")).toEqual([]);
  });

  it("never sends what the host would break the connection for", async () => {
    const { connection, socket, greet } = stage();
    greet();
    const content = [{ type: "text" as const, text: "é".repeat(600_000) }];
    const outcome = await connection.command({ type: "prompt", uuid: "u", content, priority: "next" }, "s");
    expect(outcome).toMatchObject({ rejection: { code: "invalid" } });
    expect(frames(socket(), "command")).toEqual([]);
    expect(connection.unanswered).toBe(0);
  });

  it("forgets cursors of another host", () => {
    const { connection, socket, greet, tick, told } = stage();
    connection.subscribe("s");
    greet();
    socket().says(events(1, 2));
    socket().breaks();
    tick();
    greet({ ...HELLO, host_id: "other" });
    expect(told.forgotten).toBe(1);
    expect(frames(socket(), "subscribe")).toEqual([{ type: "subscribe", session_id: "s" }]);
  });

  it("stops trying when it is refused, and waits longer and longer otherwise", () => {
    const { socket, greet, tick, timers, told } = stage();
    const waits: number[] = [];
    for (let time = 0; time < 10; time += 1) {
      socket().breaks();
      waits.push(timers[0]?.at ?? 0);
      tick();
    }
    expect(waits).toEqual([...waits].sort((a, b) => a - b));
    expect(Math.max(...waits)).toBeLessThanOrEqual(10_000);
    greet();
    socket().breaks(4001, "no good key");
    expect(timers).toEqual([]);
    expect(told.links.at(-1)).toEqual({ state: "refused", code: 4001, reason: "no good key" });
  });

  it("takes a socket that does not answer for dead once it is nudged", () => {
    const { connection, sockets, socket, greet, tick, told } = stage();
    greet();
    connection.nudge();
    tick();
    expect(told.links.at(-1)?.state).toBe("offline");
    expect(sockets[0]?.closed).toBe(true);
    tick();
    greet();
    connection.nudge();
    socket().says({ type: "sessions", sessions: [] });
    expect(connection.link.state).toBe("online");
  });

  it("takes half a frame for a broken connection", () => {
    const { connection, socket, greet } = stage();
    greet();
    socket().onmessage?.({ data: '{"type":"ev' });
    expect(connection.link.state).toBe("offline");
  });

  it("hands on every event once and in order, whatever breaks and whatever is sent twice", () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant("send" as const),
        count: fc.integer({ min: 1, max: 5 }),
        back: fc.integer({ min: 0, max: 3 }),
        skip: fc.integer({ min: 0, max: 1 }),
      }),
      fc.constant({ kind: "break" as const }),
      fc.constant({ kind: "snapshot" as const }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { connection, socket, greet, tick, told } = stage();
        connection.subscribe("s");
        greet();
        let last = 0; // The last event that the server has sent.
        let base = 0; // The seq of the last snapshot.
        for (const each of steps) {
          if (each.kind === "break") {
            socket().breaks();
            tick();
            greet();
            const asked = frames(socket(), "subscribe").at(-1) as { after?: number };
            last = asked.after ?? 0;
            expect(last).toBe(told.events.at(-1)?.seq ?? base);
          } else if (each.kind === "snapshot") {
            base = last + 7;
            last = base;
            socket().says({ type: "snapshot", session_id: "s", earlier: true, snapshot: { seq: base } as never });
          } else {
            const from = Math.max(1, last + 1 - each.back) + (each.skip > 0 && last > 0 ? each.back + 2 : 0);
            const seqs = Array.from({ length: each.count }, (_, at) => from + at);
            socket().says(events(...seqs));
            const whole = from <= last + 1;
            if (whole) last = Math.max(last, from + each.count - 1);
          }
        }
        for (const [at, each] of told.events.entries()) expect(each.seq).toBe(base + 1 + at);
      }),
      { numRuns: 500 },
    );
  });
});
