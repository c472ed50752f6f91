// Markdown as blocks, read again only where it still grows.
//
// A block never changes any more when the first line of the next one is whole (but for references to definitions that
// come later; the finished text is read once as a whole). Before that, the line may turn out to belong to it: a lone
// `2` to `2. two`, the next item of a list. The one rule it keeps: a piece of text costs what the last blocks cost.
import type { Definition, RootContent } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import remend from "remend";

/** A block and where it begins. */
export interface Block {
  readonly node: RootContent;
  readonly at: number;
}

/** A text read so far. */
export interface Blocks {
  readonly source: string;
  /** All of it. */
  readonly blocks: readonly Block[];
  /** How much of the source will not be read again, and how many blocks that are. */
  readonly settled: number;
  readonly settledBlocks: number;
  readonly definitions: ReadonlyMap<string, Definition>;
}

/** Nothing read. */
export const NOTHING_READ: Blocks = {
  source: "",
  blocks: [],
  settled: 0,
  settledBlocks: 0,
  definitions: new Map(),
};

const options = { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] };

/** A finished text. */
export function readWhole(source: string): Blocks {
  const blocks = parsed(source, 0);
  return {
    source,
    blocks,
    settled: source.length,
    settledBlocks: blocks.length,
    definitions: definitionsIn(blocks),
  };
}

/** A text that grows, given what was read of it before. */
export function readMore(before: Blocks, source: string): Blocks {
  if (source === before.source) return before;
  const known = source.startsWith(before.source.slice(0, before.settled)) ? before : NOTHING_READ;
  const tail = source.slice(known.settled);
  const fresh = parsed(tail, known.settled);
  const last = fresh.at(-1);
  // What is unfinished in the last block is shown as if it were finished: no lone stars while bold text comes.
  const repaired = last === undefined ? "" : source.slice(last.at);
  const shown =
    last === undefined || last.node.type === "code"
      ? fresh
      : [...fresh.slice(0, -1), ...parsed(remend(repaired), last.at)];
  const kept = known.blocks.slice(0, known.settledBlocks);
  const begun = last !== undefined && !repaired.includes("\n");
  const open = Math.max(0, fresh.length - (begun ? 2 : 1));
  return {
    source,
    blocks: [...kept, ...shown.map((block, at) => sameAs(before, kept.length + at, block, source))],
    settled: fresh[open]?.at ?? known.settled,
    settledBlocks: kept.length + open,
    definitions: new Map([...known.definitions, ...definitionsIn(fresh)]),
  };
}

function parsed(source: string, at: number): Block[] {
  const { children } = fromMarkdown(source, options);
  return children.map((node) => ({ node, at: at + (node.position?.start.offset ?? 0) }));
}

/** The block that was there before, if it is the same, so that it is not drawn again. */
function sameAs(before: Blocks, index: number, block: Block, source: string): Block {
  const old = before.blocks[index];
  if (old === undefined || old.at !== block.at || old.node.type !== block.node.type) return block;
  const length = lengthOf(block);
  const text = source.slice(block.at, block.at + length);
  return lengthOf(old) === length && before.source.slice(old.at, old.at + length) === text ? old : block;
}

function lengthOf({ node }: Block): number {
  return (node.position?.end.offset ?? 0) - (node.position?.start.offset ?? 0);
}

function definitionsIn(blocks: readonly Block[]): Map<string, Definition> {
  const found = new Map<string, Definition>();
  for (const { node } of blocks) {
    if (node.type === "definition" && !found.has(node.identifier)) found.set(node.identifier, node);
  }
  return found;
}
