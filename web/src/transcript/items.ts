// The items of a transcript: a list that is never changed in place and still cheap to change.
//
// It is a list of small chunks, sorted by `seq`. A change copies one chunk and the list of chunks, whatever the
// length of the transcript. The one rule it keeps: an item is found by the `seq` that began it, never by a place.
import type { Item, Seq } from "../contract";

const CHUNK = 256;

type Chunk = readonly Item[];

/** Items by `seq`. */
export interface Items {
  readonly chunks: readonly Chunk[];
  readonly length: number;
}

/** No items. */
export const NO_ITEMS: Items = { chunks: [], length: 0 };

/** Items out of a list that is sorted by `seq`. */
export function itemsOf(list: readonly Item[]): Items {
  const chunks: Chunk[] = [];
  for (let at = 0; at < list.length; at += CHUNK) {
    chunks.push(list.slice(at, at + CHUNK));
  }
  return { chunks, length: list.length };
}

/** With one more at the end. */
export function append(items: Items, item: Item): Items {
  const last = items.chunks.at(-1);
  const chunks =
    last !== undefined && last.length < CHUNK ? items.chunks.with(-1, [...last, item]) : [...items.chunks, [item]];
  return { chunks, length: items.length + 1 };
}

/** With earlier ones in front. Those that are there already are left out. */
export function prepend(items: Items, earlier: readonly Item[]): Items {
  const first = items.chunks[0]?.[0];
  const fresh = first === undefined ? earlier : earlier.filter((item) => item.seq < first.seq);
  const front = itemsOf(fresh);
  return { chunks: [...front.chunks, ...items.chunks], length: front.length + items.length };
}

/** The item that began with this event. */
export function find(items: Items, seq: Seq): Item | undefined {
  const place = locate(items, seq);
  return place === undefined ? undefined : items.chunks[place[0]]?.[place[1]];
}

/** With one item changed; the same if it is not there. */
export function change(items: Items, seq: Seq, how: (item: Item) => Item): Items {
  const place = locate(items, seq);
  if (place === undefined) return items;
  const chunk = items.chunks[place[0]];
  const item = chunk?.[place[1]];
  if (chunk === undefined || item === undefined) return items;
  return {
    chunks: items.chunks.with(place[0], chunk.with(place[1], how(item))),
    length: items.length,
  };
}

/** Those behind this event, in order. */
export function* behind(items: Items, seq: Seq): Generator<Item> {
  let from = chunkOf(items, seq + 1);
  if (from < 0) from = 0;
  for (let at = from; at < items.chunks.length; at += 1) {
    for (const item of items.chunks[at] ?? []) {
      if (item.seq > seq) yield item;
    }
  }
}

/** All of them, in order. */
export function* all(items: Items): Generator<Item> {
  for (const chunk of items.chunks) yield* chunk;
}

function locate(items: Items, seq: Seq): [number, number] | undefined {
  const at = chunkOf(items, seq);
  const chunk = items.chunks[at];
  if (chunk === undefined) return undefined;
  let low = 0;
  let high = chunk.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = chunk[middle]?.seq ?? 0;
    if (found === seq) return [at, middle];
    if (found < seq) low = middle + 1;
    else high = middle - 1;
  }
  return undefined;
}

/** The last chunk that does not begin behind this event; -1 if all do. */
function chunkOf(items: Items, seq: Seq): number {
  let low = 0;
  let high = items.chunks.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if ((items.chunks[middle]?.[0]?.seq ?? 0) <= seq) low = middle + 1;
    else high = middle - 1;
  }
  return high;
}
