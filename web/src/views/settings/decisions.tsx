// What was decided, by whom and when.
import { useEffect, useState } from "react";
import * as api from "../../api";
import type { Decision } from "../../contract";
import { goToSession } from "../../route";
import { Shown } from "../../text/shown";

/** The list, newest first. */
export function Decisions() {
  const [decisions, setDecisions] = useState<readonly Decision[] | Error | null>(null);
  useEffect(() => {
    api.decisions(200).then(setDecisions, setDecisions);
  }, []);
  return (
    <section>
      <h2>Decisions</h2>
      <p className="faint">Every answer that was given, and by whom. It is kept for ever.</p>
      {decisions === null ? (
        <p className="faint">Loading …</p>
      ) : decisions instanceof Error ? (
        <p className="bad">{decisions.message}</p>
      ) : decisions.length === 0 ? (
        <p className="faint">Nothing was decided yet.</p>
      ) : (
        <ul className="decisions">
          {decisions.map((decision) => (
            <li key={`${decision.session_id} ${decision.pending_id}`}>
              <span className={`tag ${decision.outcome ?? "withdrawn"}`}>{decision.outcome ?? "withdrawn"}</span>
              <button
                type="button"
                className="quiet"
                onClick={() => goToSession(decision.session_id, decision.pending_id)}
              >
                <Shown text={decision.tool_title || decision.kind} />
              </button>
              <span className="faint">
                {decision.by === null ? "" : `by ${decision.by}, `}
                {new Date(decision.decided_at).toLocaleString()}
              </span>
              {decision.message && <q>{decision.message}</q>}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
