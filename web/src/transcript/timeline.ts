// What of a transcript is drawn where: rows of the conversation, and what belongs inside them.
//
// It grows with the transcript and is never computed anew for a piece of text. It holds numbers of items, not
// items: a row looks up its own. The one rule it keeps: every item has exactly one place.
import type { Item, Seq, ToolCallId } from "../contract";
import { all, behind } from "./items";
import type { Transcript } from "./reduce";

/** Where everything is drawn. */
export interface Timeline {
  /** The rows of the conversation, oldest first. */
  readonly rows: readonly Seq[];
  /** What subagents did, by the call that started them. */
  readonly inside: ReadonlyMap<ToolCallId, readonly Seq[]>;
  /** Changes of files, by path, oldest first. */
  readonly files: ReadonlyMap<string, readonly Seq[]>;
  /** Prompts, oldest first. */
  readonly prompts: readonly Seq[];
  /** The first item in it; 0 if there is none. */
  readonly first: Seq;
  /** The last item in it. */
  readonly last: Seq;
}

/** Nothing to draw. */
export const NO_TIMELINE: Timeline = {
  rows: [],
  inside: new Map(),
  files: new Map(),
  prompts: [],
  first: 0,
  last: 0,
};

/** The timeline of a transcript, given the one of an earlier state of it. */
export function extend(timeline: Timeline, transcript: Transcript): Timeline {
  const first = transcript.items.chunks[0]?.[0]?.seq ?? 0;
  const last = transcript.items.chunks.at(-1)?.at(-1)?.seq ?? 0;
  if (first === timeline.first && last === timeline.last) return timeline;
  const anew = first !== timeline.first || last < timeline.last;
  const base = anew ? NO_TIMELINE : timeline;
  const rows = [...base.rows];
  const prompts = [...base.prompts];
  const inside = new Map(base.inside);
  const files = new Map(base.files);
  for (const item of anew ? all(transcript.items) : behind(transcript.items, base.last)) {
    const { content } = item;
    if (content.type === "file") add(files, content.file_path, item.seq);
    else if (item.parent_tool_call_id != null) add(inside, item.parent_tool_call_id, item.seq);
    else if (isRow(item)) rows.push(item.seq);
    if (content.type === "user_message" && item.parent_tool_call_id == null) prompts.push(item.seq);
  }
  return { rows, inside, files, prompts, first, last };
}

/** Whether an item of the main thread is a row. A turn that a prompt began is told by the prompt. */
function isRow({ content }: Item): boolean {
  return content.type !== "turn" || content.trigger === "background";
}

function add<K>(map: Map<K, readonly Seq[]>, key: K, seq: Seq): void {
  map.set(key, [...(map.get(key) ?? []), seq]);
}
