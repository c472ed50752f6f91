// A terminal's output as spans: colours and weights are kept, everything else a terminal would obey is dropped.
//
// No clipboard writes, no titles, no links, no cursor movement; a carriage return begins its line anew, as progress
// bars want it. The one rule it keeps: it makes text and class names, never markup.

/** A run of text in one style. */
export interface Span {
  readonly text: string;
  readonly classes: string;
  /** Colours beyond the sixteen, as CSS colours. */
  readonly color: string | null;
  readonly background: string | null;
}

interface Style {
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  strike: boolean;
  inverse: boolean;
  front: number | string | null;
  back: number | string | null;
}

const PLAIN: Style = {
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  strike: false,
  inverse: false,
  front: null,
  back: null,
};

// In this order: a string command (OSC, DCS, SOS, PM, APC) up to its end or the end of all, a control sequence, any
// other escape, a carriage return that is not part of a line end, a single control character.
const SEQUENCE =
  /(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)|(?:\x1b\[|\x9b)([0-9:;<=>?]*)[ -/]*([@-~])|\x1b[ -/]*[0-~]?|\r+(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g;

/** The spans of a terminal's output. */
export function spans(output: string): Span[] {
  const made: Span[] = [];
  let style = PLAIN;
  let from = 0;
  const add = (text: string) => {
    if (text !== "") made.push(spanOf(text, style));
  };
  for (const match of output.matchAll(SEQUENCE)) {
    add(output.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[2] === "m") style = styled(style, match[1] ?? "");
    else if (match[0].startsWith("\r")) restartLine(made);
  }
  add(output.slice(from).replaceAll("\r\n", "\n"));
  return made;
}

/** The text alone. */
export function plain(output: string): string {
  return spans(output)
    .map((span) => span.text)
    .join("");
}

function restartLine(made: Span[]): void {
  for (let last = made.pop(); last !== undefined; last = made.pop()) {
    const end = last.text.lastIndexOf("\n");
    if (end >= 0) {
      made.push({ ...last, text: last.text.slice(0, end + 1) });
      return;
    }
  }
}

function styled(before: Style, parameters: string): Style {
  const style = { ...before };
  const codes = parameters.split(/[;:]/).map((code) => (code === "" ? 0 : Number.parseInt(code, 10)));
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 0) Object.assign(style, PLAIN);
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.underline = true;
    else if (code === 7) style.inverse = true;
    else if (code === 9) style.strike = true;
    else if (code === 22) style.bold = style.dim = false;
    else if (code === 23) style.italic = false;
    else if (code === 24) style.underline = false;
    else if (code === 27) style.inverse = false;
    else if (code === 29) style.strike = false;
    else if (code >= 30 && code <= 37) style.front = code - 30;
    else if (code === 39) style.front = null;
    else if (code >= 40 && code <= 47) style.back = code - 40;
    else if (code === 49) style.back = null;
    else if (code >= 90 && code <= 97) style.front = code - 82;
    else if (code >= 100 && code <= 107) style.back = code - 92;
    else if (code === 38 || code === 48) {
      const [color, used] = extended(codes, at + 1);
      if (code === 38) style.front = color;
      else style.back = color;
      at += used;
    }
  }
  return style;
}

function extended(codes: readonly number[], at: number): [number | string | null, number] {
  if (codes[at] === 5) {
    const index = byte(codes[at + 1]);
    return [index < 16 ? index : indexed(index), 2];
  }
  if (codes[at] === 2) {
    return [`rgb(${byte(codes[at + 1])} ${byte(codes[at + 2])} ${byte(codes[at + 3])})`, 4];
  }
  return [null, 1];
}

function indexed(index: number): string {
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10;
    return `rgb(${grey} ${grey} ${grey})`;
  }
  const step = (part: number) => (part === 0 ? 0 : 55 + part * 40);
  const cube = index - 16;
  return `rgb(${step(Math.floor(cube / 36))} ${step(Math.floor(cube / 6) % 6)} ${step(cube % 6)})`;
}

function byte(code: number | undefined): number {
  return Number.isFinite(code) ? Math.min(255, Math.max(0, code as number)) : 0;
}

function spanOf(text: string, style: Style): Span {
  const [front, back] = style.inverse ? [style.back ?? "inverse", style.front ?? "inverse"] : [style.front, style.back];
  const classes = [
    style.bold && "ansi-bold",
    style.dim && "ansi-dim",
    style.italic && "ansi-italic",
    style.underline && "ansi-underline",
    style.strike && "ansi-strike",
    typeof front === "number" && `ansi-${front}`,
    typeof back === "number" && `ansi-on-${back}`,
    front === "inverse" && "ansi-inverse",
    back === "inverse" && "ansi-on-inverse",
  ].filter(Boolean);
  return {
    text: text.replaceAll("\r\n", "\n"),
    classes: classes.join(" "),
    color: typeof front === "string" && front !== "inverse" ? front : null,
    background: typeof back === "string" && back !== "inverse" ? back : null,
  };
}
