// Changes of a file as lines: read from a unified diff, or made from two texts.
//
// The one rule it keeps: the lines, joined, are exactly what the diff says; what changed inside a line is only
// marked, never left out.
import { structuredPatch } from "diff";

/** A line of a change. */
export interface DiffLine {
  readonly kind: "same" | "added" | "removed" | "hunk" | "note";
  readonly old: number | null;
  readonly new: number | null;
  readonly text: string;
  /** What of it changed, from here to there; null if all of it did. */
  readonly changed: readonly [number, number] | null;
}

/** The lines of a unified diff, of one file. */
export function readDiff(diff: string): DiffLine[] {
  const lines: DiffLine[] = [];
  let [old, next] = [0, 0];
  let inside = false;
  for (const line of diff.replace(/\n$/, "").split("\n")) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/.exec(line);
    if (hunk) {
      old = Number(hunk[1]);
      next = Number(hunk[2]);
      inside = true;
      lines.push({ kind: "hunk", old: null, new: null, text: line, changed: null });
    } else if (!inside) {
      // Names of files and modes: the card says them.
    } else if (line.startsWith("+")) {
      lines.push({ kind: "added", old: null, new: next, text: line.slice(1), changed: null });
      next += 1;
    } else if (line.startsWith("-")) {
      lines.push({ kind: "removed", old, new: null, text: line.slice(1), changed: null });
      old += 1;
    } else if (line.startsWith("\\")) {
      lines.push({ kind: "note", old: null, new: null, text: line.slice(2), changed: null });
    } else if (line.startsWith("diff ") || line.startsWith("--- ") || line.startsWith("index ")) {
      inside = false;
    } else {
      lines.push({ kind: "same", old, new: next, text: line.slice(1), changed: null });
      old += 1;
      next += 1;
    }
  }
  return marked(lines);
}

/** The lines of the change from one text to another, with some lines around. */
export function compare(before: string, after: string, context = 3): DiffLine[] {
  const patch = structuredPatch("a", "b", before, after, "", "", { context });
  const text = patch.hunks.map(
    (hunk) => `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@\n${hunk.lines.join("\n")}\n`,
  );
  return readDiff(text.join(""));
}

/** How many lines came and went. */
export function counted(lines: readonly DiffLine[]): { added: number; removed: number } {
  let [added, removed] = [0, 0];
  for (const { kind } of lines) {
    if (kind === "added") added += 1;
    else if (kind === "removed") removed += 1;
  }
  return { added, removed };
}

/** Marks what changed inside lines that were replaced one for one. */
function marked(lines: DiffLine[]): DiffLine[] {
  for (let at = 0; at < lines.length; ) {
    const removed = run(lines, at, "removed");
    const added = run(lines, removed, "added");
    if (removed - at > 0 && removed - at === added - removed) {
      for (let i = 0; i < removed - at; i += 1) pair(lines, at + i, removed + i);
    }
    at = Math.max(added, at + 1);
  }
  return lines;
}

function run(lines: readonly DiffLine[], from: number, kind: DiffLine["kind"]): number {
  let at = from;
  while (lines[at]?.kind === kind) at += 1;
  return at;
}

function pair(lines: DiffLine[], removed: number, added: number): void {
  const [before, after] = [lines[removed], lines[added]];
  if (before === undefined || after === undefined) return;
  const [a, b] = [before.text, after.text];
  const shorter = Math.min(a.length, b.length);
  let front = 0;
  while (front < shorter && a[front] === b[front]) front += 1;
  let back = 0;
  while (back < shorter - front && a[a.length - 1 - back] === b[b.length - 1 - back]) back += 1;
  // A line that shares next to nothing is another line, and marking nearly all of it tells nothing.
  if (front + back < shorter * 0.3) return;
  lines[removed] = { ...before, changed: [front, a.length - back] };
  lines[added] = { ...after, changed: [front, b.length - back] };
}
