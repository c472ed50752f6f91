// What was decided, by whom and when: every answer that was ever given, to read, filter and save.
import { Download } from "lucide-react";
import { useCallback, useEffect, useMemo, useState } from "react";
import * as api from "../../api";
import type { Decision } from "../../contract";
import { goToSession } from "../../route";
import { saveFile } from "../../text/save";
import { Shown } from "../../text/shown";

const PAGE = 100;
type Outcome = "all" | "allowed" | "denied" | "other";

/** The list, newest first. */
export function Audit() {
  const [decisions, setDecisions] = useState<readonly Decision[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [end, setEnd] = useState(false);
  const [words, setWords] = useState("");
  const [outcome, setOutcome] = useState<Outcome>("all");
  const load = useCallback(async (before: number | null) => {
    try {
      const page = await api.decisions(PAGE, before);
      setDecisions((known) => (before === null ? page : [...(known ?? []), ...page]));
      setEnd(page.length < PAGE);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  }, []);
  useEffect(() => void load(null), [load]);
  const shown = useMemo(() => {
    const wanted = words.trim().toLowerCase();
    return (decisions ?? []).filter(
      (each) =>
        isOf(each, outcome) &&
        (wanted === "" ||
          `${each.tool_title} ${each.by ?? ""} ${each.message ?? ""} ${each.tool_name ?? ""}`
            .toLowerCase()
            .includes(wanted)),
    );
  }, [decisions, words, outcome]);
  return (
    <section>
      <h2>Audit</h2>
      <p className="faint">
        Every answer that was given, and by whom: a person, a rule or a time-out. It is kept for ever.
      </p>
      {problem !== null && <p className="bad">{problem}</p>}
      {decisions === null ? (
        problem === null && <p className="faint">Loading …</p>
      ) : decisions.length === 0 ? (
        <p className="faint">Nothing was decided yet.</p>
      ) : (
        <>
          <div className="filters">
            <input
              type="search"
              aria-label="Filter"
              placeholder="Filter: what, who, why"
              value={words}
              onChange={(event) => setWords(event.target.value)}
            />
            <select
              aria-label="Which outcome"
              value={outcome}
              onChange={(event) => setOutcome(event.target.value as Outcome)}
            >
              <option value="all">all</option>
              <option value="allowed">allowed</option>
              <option value="denied">denied</option>
              <option value="other">no answer</option>
            </select>
            <button
              type="button"
              onClick={() =>
                saveFile(
                  "decisions.ndjson",
                  "application/x-ndjson",
                  shown.map((each) => `${JSON.stringify(each)}\n`),
                )
              }
            >
              <Download size={15} aria-hidden /> Save these
            </button>
          </div>
          {shown.length === 0 && <p className="faint">None of those that are loaded.</p>}
          <ul className="decisions">
            {shown.map((decision) => (
              <li key={`${decision.session_id} ${decision.pending_id}`}>
                <span className={`tag ${decision.outcome ?? "withdrawn"}`}>{decision.outcome ?? "withdrawn"}</span>
                <button
                  type="button"
                  className="quiet"
                  onClick={() => goToSession(decision.session_id, decision.pending_id)}
                >
                  <span className="what">
                    <Shown text={decision.tool_title || decision.kind} />
                  </span>
                </button>
                <span className="faint">
                  {decision.by === null ? "" : `by ${decision.by}, `}
                  {new Date(decision.decided_at).toLocaleString()}
                </span>
                {decision.message && <q>{decision.message}</q>}
              </li>
            ))}
          </ul>
          {!end && (
            <button
              type="button"
              className="quiet more"
              onClick={() => void load(decisions.at(-1)?.decided_at ?? null)}
            >
              Show earlier ones
            </button>
          )}
        </>
      )}
    </section>
  );
}

function isOf({ outcome }: Decision, wanted: Outcome): boolean {
  if (wanted === "all") return true;
  return wanted === "other" ? outcome !== "allowed" && outcome !== "denied" : outcome === wanted;
}
