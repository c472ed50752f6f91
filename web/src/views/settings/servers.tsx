// The MCP servers of all sessions that have a run: how each is, and what can be done about it.
import { useMemo } from "react";
import type { SessionSummary } from "../../contract";
import { goToSession } from "../../route";
import { lastPart } from "../../text/format";
import { useKnown } from "../../use";
import { ServerList } from "../session/servers";

/** The sessions and their servers. */
export function AllServers() {
  const sessions = useKnown((known) => known.sessions);
  const live = useMemo(
    () => [...sessions.values()].filter((each) => each.state !== "ended").sort((a, b) => b.updated_at - a.updated_at),
    [sessions],
  );
  return (
    <section>
      <h2>MCP servers</h2>
      <p className="faint">
        Servers belong to a session’s run: those of your own configuration, and those of its folder if you trust it.
      </p>
      {live.length === 0 && <p className="faint">No session has a run now. Say something in one, then look here.</p>}
      {live.map((summary) => (
        <OneSession key={summary.session_id} summary={summary} />
      ))}
    </section>
  );
}

function OneSession({ summary }: { summary: SessionSummary }) {
  return (
    <article className="servers-of" aria-label={summary.title || "New session"}>
      <header>
        <button type="button" className="quiet" onClick={() => goToSession(summary.session_id)}>
          <strong>{summary.title || "New session"}</strong>
        </button>
        <span className="faint">
          {lastPart(summary.cwd)}
          {!summary.trusted && summary.agent !== "demo" && " · not trusted"}
        </span>
      </header>
      <ServerList session={summary.session_id} />
    </article>
  );
}
