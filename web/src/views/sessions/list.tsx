// The sessions: how each stands, and what waits for an answer, to be answered right here.
import { ChevronDown } from "lucide-react";
import { memo, useMemo, useState } from "react";
import * as api from "../../api";
import type { SessionId, SessionSummary } from "../../contract";
import { kept } from "../../kept";
import { goToSession, pathOf } from "../../route";
import { ago, dollars, lastPart, several, withoutMarks } from "../../text/format";
import { useNow } from "../../ui/time";
import { store, useKnown } from "../../use";
import { Card } from "../desk/card";
import { StateDot, standing } from "./state";

/** The list; of archived ones instead, if wanted. */
export function SessionList({ chosen, show }: { chosen: SessionId | null; show: "open" | "archived" }) {
  const sessions = useKnown((known) => known.sessions);
  const listed = useKnown((known) => known.listed);
  const ordered = useMemo(
    () => [...sessions.values()].filter((each) => each.archived === (show === "archived")).sort(byImportance),
    [sessions, show],
  );
  if (!listed) return <p className="list-note faint">Looking for sessions …</p>;
  return (
    <>
      {ordered.length === 0 && (
        <p className="list-note faint">
          {show === "archived" ? "Nothing is archived." : "No sessions yet. The button with the plus begins one."}
        </p>
      )}
      <ul className="session-list">
        {ordered.map((summary) => (
          <SessionRow key={summary.session_id} summary={summary} chosen={summary.session_id === chosen} />
        ))}
      </ul>
      {(show === "archived" || ordered.length >= 20) && <More show={show} />}
    </>
  );
}

/** What waits comes first, then what runs, then what was last touched. */
function byImportance(a: SessionSummary, b: SessionSummary): number {
  const rank = (each: SessionSummary) => ({ waits: 0, running: 1, failed: 2, idle: 2, ended: 2 })[standing(each)];
  return rank(a) - rank(b) || b.updated_at - a.updated_at;
}

const SessionRow = memo(function SessionRow({ summary, chosen }: { summary: SessionSummary; chosen: boolean }) {
  const now = useNow(30_000);
  const [chosenClosed, setClosed] = useState<boolean | null>(null);
  const { session_id: id, pending } = summary;
  const request = pending[0];
  // What was never opened in this browser is no news in it.
  const read = kept(`read.${id}`, 0);
  const unread = !chosen && read > 0 && summary.seq > read && summary.state !== "running";
  // A permission is a matter of one look; questions and plans take more room than a list has.
  const closed = chosenClosed ?? request?.kind !== "tool";
  return (
    <li className={chosen ? "chosen" : unread ? "unread" : ""}>
      <a
        href={pathOf({ at: "session", id, seq: null })}
        className="session-row"
        aria-current={chosen ? "page" : undefined}
        onClick={(event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          goToSession(id);
        }}
      >
        <span className="session-title">
          <StateDot summary={summary} /> <span>{summary.title || "New session"}</span>
        </span>
        <span className="session-meta">
          <span title={summary.cwd}>{lastPart(summary.cwd)}</span>
          {summary.agent === "demo" && <span>demo</span>}
          {summary.total_cost_usd > 0 && <span>{dollars(summary.total_cost_usd)}</span>}
          {summary.queued > 0 && <span>{several(summary.queued, "prompt")} waiting</span>}
          <span className="when">{ago(summary.updated_at, now)}</span>
        </span>
        {summary.last_error !== null && pending.length === 0 && (
          <span className="session-preview bad">{summary.last_error}</span>
        )}
        {summary.preview !== "" && summary.last_error === null && (
          <span className="session-preview">{withoutMarks(summary.preview)}</span>
        )}
      </a>
      {request !== undefined && !chosen && (
        <div className="session-pending">
          <button
            type="button"
            className="quiet pending-head"
            aria-expanded={!closed}
            onClick={() => setClosed(!closed)}
          >
            {several(pending.length, "question")} for you{" "}
            <ChevronDown size={14} className={closed ? "" : "up"} aria-hidden />
          </button>
          {!closed && <Card key={request.pending_id} session={id} request={request} cwd={summary.cwd} place="list" />}
        </div>
      )}
    </li>
  );
});

/** Older ones, which the host does not tell by itself. */
function More({ show }: { show: "open" | "archived" }) {
  const [next, setNext] = useState<string | null | undefined>(undefined);
  const [loading, setLoading] = useState(false);
  if (next === null) return null;
  const load = async () => {
    setLoading(true);
    try {
      const page = await api.sessions({
        archived: show === "archived" ? "only" : "false",
        before: next ?? null,
        limit: 50,
      });
      store.addSessions(page.sessions);
      setNext(page.next);
    } catch (error) {
      store.tell(error instanceof Error ? error.message : String(error));
    } finally {
      setLoading(false);
    }
  };
  return (
    <button type="button" className="quiet more" disabled={loading} onClick={() => void load()}>
      {loading ? "Loading …" : "Show older ones"}
    </button>
  );
}
