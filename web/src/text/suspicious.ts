// Characters that hide or reorder others, found so that they can be shown.
//
// A command that is read by a person before it runs must read as it runs. The one rule it keeps: the pieces,
// joined, are exactly the text.

/** A piece of a text: plain, or one character that would not be seen. */
export interface Piece {
  readonly text: string;
  /** `U+202E`, if it is one that must be shown. */
  readonly hidden: string | null;
}

// Control characters but for tab and the line ends, soft hyphen, Arabic letter mark, Mongolian separator, zero-width
// and directional marks, line and paragraph separators, word joiner and invisible operators, isolates, fillers,
// variation selectors of the supplement, tags, byte order mark, interlinear marks.
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** The text in pieces. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > from) found.push({ text: text.slice(from, match.index), hidden: null });
    found.push({ text: match[0], hidden: name(match[0]) });
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ text: text.slice(from), hidden: null });
  return found;
}

/** Whether there is anything to be shown. */
export function isSuspicious(text: string): boolean {
  HIDDEN.lastIndex = 0;
  return HIDDEN.test(text);
}

function name(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
