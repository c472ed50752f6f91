// A change of a file, line by line, in colours.
//
// It is ours because the ready-made ones write markup into the page as text, which the page's policy refuses. The
// one rule it keeps: nothing of the change is left out without a button that shows it.
import { memo, type ReactNode, useMemo, useState } from "react";
import { Virtualizer } from "virtua";
import { Tokens, useTokens } from "./code";
import { counted, type DiffLine } from "./diff";
import { several } from "./format";
import { languageOfFile, type Token } from "./highlight";
import { Shown } from "./shown";
import { isSuspicious } from "./suspicious";

/** From here on only what is in view is drawn. */
const MANY = 500;

/** What may be done with a line. */
export type OnLine = (line: DiffLine) => void;

/** The lines of a change; with `atFirst` only so many until all are asked for. */
export const DiffView = memo(function DiffView({
  lines,
  path,
  atFirst = Number.POSITIVE_INFINITY,
  onLine,
  after,
}: {
  lines: readonly DiffLine[];
  path: string;
  atFirst?: number;
  onLine?: OnLine;
  /** What stands below a line. */
  after?: (line: DiffLine) => ReactNode;
}) {
  const [whole, setWhole] = useState(false);
  const language = languageOfFile(path);
  const tokens = useDiffTokens(lines, language);
  const shown = whole ? lines : lines.slice(0, atFirst);
  const row = (line: DiffLine, at: number) => (
    <div key={at}>
      <Line line={line} tokens={tokens?.get(line) ?? null} onLine={onLine} />
      {after?.(line)}
    </div>
  );
  return (
    <div className="diff" role="group" aria-label={`changes of ${path}`}>
      {shown.length > MANY ? (
        <div className="diff-lines tall" tabIndex={0}>
          <Virtualizer data={shown}>{row}</Virtualizer>
        </div>
      ) : (
        <div className="diff-lines" tabIndex={0}>
          {shown.map(row)}
        </div>
      )}
      {lines.length > atFirst && (
        <button type="button" className="quiet more" onClick={() => setWhole(!whole)}>
          {whole ? "Show less" : `Show ${several(lines.length - atFirst, "more line")}`}
        </button>
      )}
    </div>
  );
});

/** How many lines came and went, as a small label. */
export function DiffCount({ lines }: { lines: readonly DiffLine[] }) {
  const { added, removed } = useMemo(() => counted(lines), [lines]);
  return <Count added={added} removed={removed} />;
}

/** The same of known numbers. */
export function Count({ added, removed }: { added: number; removed: number }) {
  return (
    <span className="diff-count">
      <span className="plus">+{added}</span> <span className="minus">−{removed}</span>
    </span>
  );
}

const SIGN = { same: " ", added: "+", removed: "−", hunk: "", note: "" } as const;

const Line = memo(function Line({
  line,
  tokens,
  onLine,
}: {
  line: DiffLine;
  tokens: readonly Token[] | null;
  onLine: OnLine | undefined;
}) {
  if (line.kind === "hunk" || line.kind === "note") {
    return <div className={`diff-line ${line.kind}`}>{line.text}</div>;
  }
  const number = line.new ?? line.old;
  return (
    <div className={`diff-line ${line.kind}`}>
      {onLine === undefined ? (
        <span className="number" aria-hidden>
          {number}
        </span>
      ) : (
        <button type="button" className="number" aria-label={`Comment on line ${number}`} onClick={() => onLine(line)}>
          {number}
        </button>
      )}
      <span className="sign">{SIGN[line.kind]}</span>
      <span className="text">
        {tokens !== null && line.changed === null && !isSuspicious(line.text) ? (
          <Tokens line={tokens} />
        ) : (
          <Changed line={line} />
        )}
        {line.text === "" && "\u00a0"}
      </span>
    </div>
  );
});

function Changed({ line: { text, changed } }: { line: DiffLine }) {
  if (changed === null) return <Shown text={text} />;
  return (
    <>
      <Shown text={text.slice(0, changed[0])} />
      <mark>
        <Shown text={text.slice(changed[0], changed[1])} />
      </mark>
      <Shown text={text.slice(changed[1])} />
    </>
  );
}

/** The tokens of each line; each side is read as one text, so that what spans lines is right. */
function useDiffTokens(lines: readonly DiffLine[], language: string | null): Map<DiffLine, readonly Token[]> | null {
  const sides = useMemo(() => {
    const of = (kind: "added" | "removed") => lines.filter((line) => line.kind === kind || line.kind === "same");
    return { before: of("removed"), after: of("added") };
  }, [lines]);
  const text = (side: readonly DiffLine[]) => side.map((line) => line.text).join("\n");
  const before = useTokens(
    useMemo(() => text(sides.before), [sides]),
    language,
  );
  const after = useTokens(
    useMemo(() => text(sides.after), [sides]),
    language,
  );
  return useMemo(() => {
    if (before === null || after === null) return null;
    const found = new Map<DiffLine, readonly Token[]>();
    for (const [at, line] of sides.before.entries()) found.set(line, before[at] ?? []);
    for (const [at, line] of sides.after.entries()) found.set(line, after[at] ?? []);
    return found;
  }, [sides, before, after]);
}
