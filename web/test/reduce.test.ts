// The page's fold beside the host's: the same events must make the same snapshot, for every recording there is.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Event, Snapshot } from "../src/contract";
import { all } from "../src/transcript/items";
import { EMPTY, fromSnapshot, reduce, toSnapshot } from "../src/transcript/reduce";
import { extend, NO_TIMELINE } from "../src/transcript/timeline";
import { program } from "./program";

const fixtures = new URL("../../fixtures/", import.meta.url).pathname;

function recordings(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (!statSync(path).isDirectory()) return [];
    const transcript = join(path, "transcript.jsonl");
    return existsSync(transcript) ? [transcript] : recordings(path);
  });
}

const files = readdirSync(fixtures)
  .filter((name) => name.startsWith("recordings"))
  .flatMap((name) => recordings(join(fixtures, name)))
  .sort();

function replay(file: string, ...flags: string[]): string {
  const options = { encoding: "utf8", maxBuffer: 1 << 30 } as const;
  return execFileSync(program(), ["replay", ...flags, file], options);
}

function events(file: string): Event[] {
  const lines = replay(file, "--format", "json").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Event);
}

describe("the fold", () => {
  it("has recordings to be tried on", () => {
    expect(files.length).toBeGreaterThan(250);
  });

  it.each(files.map((file) => [file.slice(fixtures.length), file]))("is the host's own: %s", (_, file) => {
    const told = events(file);
    const wanted = JSON.parse(replay(file, "--snapshot")) as Snapshot;
    const whole = told.reduce(reduce, EMPTY);
    expect(toSnapshot(whole)).toEqual(wanted);

    // Joining anywhere gives the same; three places per recording, spread over it.
    for (const part of [0.2, 0.5, 0.8]) {
      const at = Math.floor(told.length * part);
      const half = toSnapshot(told.slice(0, at).reduce(reduce, EMPTY));
      const joined = told.slice(at).reduce(reduce, fromSnapshot(JSON.parse(JSON.stringify(half))));
      expect(toSnapshot(joined)).toEqual(wanted);
    }

    // Told twice, or a part of it again, changes nothing.
    expect(told.reduce(reduce, whole)).toBe(whole);

    // Drawn piece by piece or at once, everything has one and the same place.
    let timeline = NO_TIMELINE;
    let growing = EMPTY;
    for (const event of told) {
      growing = reduce(growing, event);
      timeline = extend(timeline, growing);
    }
    expect(timeline).toEqual(extend(NO_TIMELINE, whole));
    const places =
      timeline.rows.length +
      [...timeline.inside.values(), ...timeline.files.values()].flat().length +
      [...all(whole.items)].filter(
        ({ content, parent_tool_call_id }) =>
          content.type === "turn" && content.trigger !== "background" && parent_tool_call_id == null,
      ).length;
    expect(places).toBe(whole.items.length);
  });

  it("costs the same per piece of text however long the session is", () => {
    const told: Event[] = [];
    for (let seq = 1; seq < 200_000; seq += 2) told.push(chunk(seq, seq), ended(seq + 1, seq));
    const long = [...told, chunk(200_001, 200_001)].reduce(reduce, EMPTY);
    expect(long.items.length).toBe(100_001);
    // What a piece of text copies is bounded: the chunks that are not touched stay the same objects.
    const before = long.items.chunks;
    const after = reduce(long, chunk(200_002, 200_001)).items.chunks;
    const changed = after.filter((list, at) => list !== before[at]);
    expect(changed.length).toBe(1);
    expect(changed[0]?.length).toBeLessThanOrEqual(256);
  });
});

const envelope = (seq: number) => ({ seq, at: seq, session_id: "s", turn: 1 });

function chunk(seq: number, item_id: number): Event {
  return { type: "message_chunk", ...envelope(seq), item_id, message_id: null, text: "a" };
}

function ended(seq: number, item_id: number): Event {
  return { type: "item_ended", ...envelope(seq), item_id, outcome: "complete" };
}
