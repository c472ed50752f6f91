// Searching all conversations.
import { useEffect, useState } from "react";
import * as api from "../../api";
import type { SearchHit } from "../../contract";
import { goToSession } from "../../route";
import { ago } from "../../text/format";
import { useNow } from "../../ui/time";

/** What was found for some words. */
export function SearchResults({ words }: { words: string }) {
  const [found, setFound] = useState<{ words: string; hits: readonly SearchHit[] } | Error | null>(null);
  const now = useNow(60_000);
  useEffect(() => {
    let wanted = true;
    const timer = setTimeout(() => {
      api.search(words).then(
        ({ hits }) => wanted && setFound({ words, hits }),
        (error: Error) => wanted && setFound(error),
      );
    }, 150);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [words]);
  if (found === null) return <p className="list-note faint">Searching …</p>;
  if (found instanceof Error) return <p className="list-note bad">{found.message}</p>;
  if (found.hits.length === 0) return <p className="list-note faint">Nothing was found.</p>;
  return (
    <ul className="session-list" aria-label="What was found">
      {found.hits.map((hit) => (
        <li key={`${hit.session_id} ${hit.seq}`}>
          <button type="button" className="session-row" onClick={() => goToSession(hit.session_id, hit.seq)}>
            <span className="session-title">
              <span>{hit.title}</span>
            </span>
            <span className="excerpt">
              <Excerpt text={hit.excerpt} />
            </span>
            <span className="session-meta">
              <span>{KINDS[hit.kind] ?? hit.kind}</span>
              <span className="when">{ago(hit.at, now)}</span>
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}

const KINDS: Record<string, string> = {
  user_message: "you said",
  text: "it said",
  thinking: "it thought",
  tool: "a tool",
};

/** What was found stands between two marks. */
function Excerpt({ text }: { text: string }) {
  return text.split("\u0002").map((part, at) => {
    if (at === 0) return part;
    const [hit = "", rest = ""] = part.split("\u0003");
    return (
      <span key={`${at}`}>
        <mark>{hit}</mark>
        {rest}
      </span>
    );
  });
}
