// What a program wrote to its terminal, in its colours.
import { memo, useMemo, useState } from "react";
import { spans } from "./ansi";
import { several } from "./format";

/** How many lines are shown until all are asked for. */
const AT_FIRST = 14;
/** More than this is never drawn in one go. */
const AT_MOST = 4000;

/** A terminal's output; long output is cut from its beginning until somebody asks. */
export const Terminal = memo(function Terminal({ output, tone }: { output: string; tone?: "error" }) {
  const [whole, setWhole] = useState(false);
  const lines = useMemo(() => output.replace(/\n+$/, "").split("\n"), [output]);
  const limit = whole ? AT_MOST : AT_FIRST;
  const hidden = Math.max(0, lines.length - limit);
  const shown = useMemo(() => spans(lines.slice(hidden).join("\n")), [lines, hidden]);
  return (
    <div className={`terminal ${tone ?? ""}`}>
      {lines.length > AT_FIRST && (
        <button type="button" className="quiet more" onClick={() => setWhole(!whole)}>
          {whole ? "Show less" : `Show ${several(hidden, "earlier line")}`}
          {whole && hidden > 0 && ` (the last ${AT_MOST} of ${lines.length} lines are here)`}
        </button>
      )}
      <pre tabIndex={0}>
        {shown.map((span, at) =>
          span.classes === "" && span.color === null && span.background === null ? (
            span.text
          ) : (
            <span
              key={`${at}`}
              className={span.classes || undefined}
              style={
                span.color === null && span.background === null
                  ? undefined
                  : { color: span.color ?? undefined, backgroundColor: span.background ?? undefined }
              }
            >
              {span.text}
            </span>
          ),
        )}
      </pre>
    </div>
  );
});
