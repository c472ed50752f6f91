// The lines of the agent beside the events that were made of them, in one order.
//
// Pure. The one rule it keeps: every line and every event is there once, and an event stands behind its line.
import type { Event, KeptLine } from "../../contract";

/** One row of the debugger. */
export type FeedRow =
  | { readonly kind: "line"; readonly line: KeptLine; readonly made: number }
  | { readonly kind: "event"; readonly event: Event; readonly ofLine: boolean };

/** Lines and events, both in their own order, as one list. */
export function woven(lines: readonly KeptLine[], events: readonly Event[]): FeedRow[] {
  const rows: FeedRow[] = [];
  let next = 0;
  const upTo = (seq: number, ofLine: boolean) => {
    let many = 0;
    for (let event = events[next]; event !== undefined && event.seq <= seq; event = events[next]) {
      rows.push({ kind: "event", event, ofLine });
      next += 1;
      many += 1;
    }
    return many;
  };
  for (const line of lines) {
    if (line.first_seq !== null) upTo(line.first_seq - 1, false);
    const place = rows.length;
    rows.push({ kind: "line", line, made: 0 });
    const made = line.last_seq === null ? 0 : upTo(line.last_seq, true);
    rows[place] = { kind: "line", line, made };
  }
  upTo(Number.POSITIVE_INFINITY, false);
  return rows;
}

/** What a row is found by. */
export function textOf(row: FeedRow): string {
  return row.kind === "line" ? row.line.text : JSON.stringify(row.event);
}

/** Rows with these words in them, of the wanted kinds. */
export function filtered(rows: readonly FeedRow[], words: string, kinds: ReadonlySet<FeedKind>): FeedRow[] {
  const wanted = words.trim().toLowerCase();
  return rows.filter((row) => kinds.has(kindOf(row)) && (wanted === "" || textOf(row).toLowerCase().includes(wanted)));
}

/** What can be left out. */
export type FeedKind = "from_cli" | "to_cli" | "events";

/** Of which kind a row is. */
export function kindOf(row: FeedRow): FeedKind {
  return row.kind === "event" ? "events" : row.line.direction;
}

/** What a line is, in a word or two. */
export function nameOf({ text }: KeptLine): string {
  // A line that was cut is no JSON any more; its tags stand at its beginning.
  const tag = (name: string) => new RegExp(`"${name}"\\s*:\\s*"([\\w./-]{1,40})"`).exec(text.slice(0, 4_000))?.[1];
  const [type, subtype] = [tag("type"), tag("subtype")];
  if (type === undefined) return "?";
  const streamed = type === "stream_event" ? /"event"\s*:\s*\{\s*"type"\s*:\s*"(\w+)"/.exec(text)?.[1] : undefined;
  if (streamed !== undefined) return `${type} ${streamed}`;
  return subtype === undefined || subtype === type ? type : `${type} ${subtype}`;
}

/** The lines as a journal, which `jackfield replay` reads. */
export function journal(lines: readonly KeptLine[]): string[] {
  return lines
    .filter((line) => !line.cut)
    .map((line) => {
      const dir = line.direction === "from_cli" ? "out" : "in";
      return `${JSON.stringify({ t: line.at / 1000, dir, line: line.text })}\n`;
    });
}
