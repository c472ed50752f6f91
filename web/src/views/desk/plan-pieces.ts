// A plan in pieces that can be commented: its paragraphs, its headings, each point of its lists.
//
// Pure. The one rule it keeps: the pieces in their order are the whole plan.
import { readWhole } from "../../text/blocks";

/** A piece of a plan. */
export interface PlanPiece {
  /** The line at which it begins, counted from 1. */
  readonly line: number;
  /** Its Markdown. */
  readonly text: string;
}

/** The pieces of a plan. */
export function piecesOf(plan: string): PlanPiece[] {
  const pieces: PlanPiece[] = [];
  const add = (from: number, to: number, line: number) => {
    const text = plan.slice(from, to);
    if (text.trim() !== "") pieces.push({ line, text });
  };
  for (const { node } of readWhole(plan).blocks) {
    // The points of a list are what people talk about, not the list.
    const parts = node.type === "list" ? node.children : [node];
    for (const { position } of parts) {
      if (position === undefined) continue;
      const { start, end } = position;
      add(start.offset ?? 0, end.offset ?? plan.length, start.line);
    }
  }
  return pieces;
}

/** Comments as the model is told them: each with the line it is about, then what concerns the whole. */
export function wordsOf(pieces: readonly PlanPiece[], comments: ReadonlyMap<number, string>, general: string): string {
  const about = pieces.flatMap(({ line, text }) => {
    const comment = comments.get(line)?.trim();
    return comment ? [`- line ${line} (“${quoted(text)}”): ${comment}`] : [];
  });
  const parts = about.length > 0 ? [`Comments on the plan:\n${about.join("\n")}`] : [];
  if (general.trim() !== "") parts.push(general.trim());
  return parts.join("\n\n");
}

function quoted(text: string): string {
  const first =
    text
      .trim()
      .split("\n")[0]
      ?.replace(/^(#{1,6}|[-*+]|\d+[.)])\s+/, "") ?? "";
  return first.length > 80 ? `${first.slice(0, 79)}…` : first;
}
