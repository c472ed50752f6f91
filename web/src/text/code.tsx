// A block of code: in colours once it is finished, with a button that copies it.
import { Check, Copy } from "lucide-react";
import { memo, useEffect, useState } from "react";
import { highlight, highlighted, languageOf, type Token } from "./highlight";
import type { Growth } from "./markdown";

type Lines = readonly (readonly Token[])[];

/** Lines of code in colours, as soon as they are there; null until then. */
export function useTokens(code: string, language: string | null, growth: Growth = "finished"): Lines | null {
  const [lines, setLines] = useState<{ code: string; lines: Lines } | null>(null);
  const wanted = growth === "finished" && language !== null;
  useEffect(() => {
    if (!wanted) return;
    const given = new AbortController();
    highlight(code, language, given.signal).then((made) => {
      if (made !== null && !given.signal.aborted) setLines({ code, lines: made });
    });
    return () => given.abort();
  }, [code, language, wanted]);
  if (!wanted) return null;
  return lines?.code === code ? lines.lines : highlighted(code, language);
}

/** One line of tokens. */
export function Tokens({ line }: { line: readonly Token[] }) {
  return line.map(({ text, kind }, at) =>
    kind === "" ? (
      text
    ) : (
      <span key={at} className={kind}>
        {text}
      </span>
    ),
  );
}

/** Code as it stands, without a frame. */
export const Code = memo(function Code({
  code,
  language,
  growth = "finished",
}: {
  code: string;
  language: string | null;
  growth?: Growth;
}) {
  const lines = useTokens(code, language, growth);
  if (lines === null) return <code>{code}</code>;
  return (
    <code>
      {lines.map((line, at) => (
        <span key={at}>
          <Tokens line={line} />
          {at < lines.length - 1 && "\n"}
        </span>
      ))}
    </code>
  );
});

/** Code in its frame. */
export function CodeBlock({ code, language, growth }: { code: string; language: string | null; growth: Growth }) {
  return (
    <figure className="code-block">
      <figcaption>
        <span>{language ?? "text"}</span>
        <CopyButton text={code} />
      </figcaption>
      <pre tabIndex={0}>
        <Code code={code} language={languageOf(language)} growth={growth} />
      </pre>
    </figure>
  );
}

/** Copies a text and says so. */
export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () => {
    copyText(text).then(() => setCopied(true));
  };
  return (
    <button type="button" className="quiet icon" onClick={copy} aria-label={copied ? "Copied" : label} title={label}>
      {copied ? <Check size={14} /> : <Copy size={14} />}
    </button>
  );
}

/** Puts a text on the clipboard, also where the page is not trustworthy enough for the clipboard's own way. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
