// The debugger's list: lines beside the events that were made of them.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Event, KeptLine } from "../src/contract";
import { filtered, journal, nameOf, woven } from "../src/views/session/feed";

function line(number: number, made: readonly [number, number] | null, text = `{"type":"x${number}"}`): KeptLine {
  const [first_seq, last_seq] = made ?? [null, null];
  return {
    number,
    at: number * 1000,
    direction: "from_cli",
    text,
    bytes: text.length,
    cut: false,
    first_seq,
    last_seq,
  };
}

const event = (seq: number): Event => ({ type: "stderr", text: `e${seq}`, seq, at: seq, session_id: "s", turn: null });
const shape = (rows: ReturnType<typeof woven>) =>
  rows.map((row) =>
    row.kind === "line" ? `line ${row.line.number}` : `${row.ofLine ? "  " : ""}event ${row.event.seq}`,
  );

describe("lines and events", () => {
  it("puts events behind the line that they were made of, and others where they belong", () => {
    const lines = [line(7, [3, 4]), line(8, null), line(9, [6, 6])];
    const rows = woven(lines, [1, 2, 3, 4, 5, 6, 7].map(event));
    expect(shape(rows)).toEqual([
      "event 1",
      "event 2",
      "line 7",
      "  event 3",
      "  event 4",
      "line 8",
      "event 5",
      "line 9",
      "  event 6",
      "event 7",
    ]);
  });

  it("has every line and every event once, whatever is there of either", () => {
    const made = fc.array(fc.tuple(fc.nat(3), fc.nat(3)), { maxLength: 30 });
    fc.assert(
      fc.property(made, fc.nat(20), (steps, missing) => {
        let seq = 0;
        const lines = steps.map(([gap, many], at) => {
          seq += gap;
          const first = seq + 1;
          seq += many;
          return line(at + 1, many === 0 ? null : [first, seq]);
        });
        const events = Array.from({ length: seq + 2 }, (_, at) => event(at + 1)).slice(missing);
        const rows = woven(lines, events);
        expect(rows.flatMap((row) => (row.kind === "event" ? [row.event.seq] : []))).toEqual(
          events.map((each) => each.seq),
        );
        expect(rows.flatMap((row) => (row.kind === "line" ? [row.line.number] : []))).toEqual(
          lines.map((each) => each.number),
        );
      }),
    );
  });

  it("finds words in both, and leaves out what is not wanted", () => {
    const rows = woven([line(1, [1, 1], '{"type":"assistant","text":"Hello"}')], [event(1)]);
    expect(shape(filtered(rows, "HELLO", new Set(["from_cli", "events"])))).toEqual(["line 1"]);
    expect(shape(filtered(rows, "", new Set(["events"])))).toEqual(["  event 1"]);
    expect(filtered(rows, "nowhere", new Set(["from_cli", "to_cli", "events"]))).toEqual([]);
  });

  it("names a line by its tags, also one that was cut", () => {
    const name = (text: string) => nameOf(line(1, null, text));
    expect(name('{"type":"system","subtype":"init"}')).toBe("system init");
    expect(name('{"type":"stream_event","event":{"type":"message_start"}}')).toBe("stream_event message_start");
    expect(name('{"type":"user","message":{"content":"cut he')).toBe("user");
    expect(name("not json")).toBe("?");
  });

  it("writes a journal of whole lines only", () => {
    const cut = { ...line(2, null, '{"type":"us'), cut: true };
    const out = { ...line(3, null, '{"type":"user"}'), direction: "to_cli" as const };
    expect(journal([line(1, null), cut, out])).toEqual([
      '{"t":1,"dir":"out","line":"{\\"type\\":\\"x1\\"}"}\n',
      '{"t":3,"dir":"in","line":"{\\"type\\":\\"user\\"}"}\n',
    ]);
  });
});
