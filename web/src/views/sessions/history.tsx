// Conversations of the CLI's own history, to be taken into the host.
import { useEffect, useState } from "react";
import * as api from "../../api";
import type { HistoryEntry } from "../../contract";
import { goToSession } from "../../route";
import { ago, lastPart, several } from "../../text/format";
import { Dialog } from "../../ui/dialog";
import { useNow } from "../../ui/time";
import { store } from "../../use";

/** The dialog. */
export function HistoryImport({ onClose }: { onClose: () => void }) {
  const [entries, setEntries] = useState<readonly HistoryEntry[] | Error | null>(null);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [words, setWords] = useState("");
  const [doing, setDoing] = useState(false);
  const now = useNow(60_000);
  useEffect(() => {
    api.history().then((list) => setEntries(list.entries), setEntries);
  }, []);
  const take = async (cli_session_ids: string[]) => {
    setDoing(true);
    const reply = await store.ask({ type: "import", cli_session_ids });
    // Whoever takes one in wants to see it.
    const [only] = cli_session_ids.length === 1 ? cli_session_ids : [];
    const found = reply === null || only === undefined ? null : await api.history().catch(() => null);
    setDoing(false);
    if (reply === null) return;
    const session = found?.entries.find((entry) => entry.cli_session_id === only)?.session_id ?? null;
    if (session !== null) goToSession(session);
    onClose();
  };
  const wanted = words.trim().toLowerCase();
  const shown =
    entries === null || entries instanceof Error
      ? []
      : entries
          .filter((entry) => wanted === "" || `${entry.title} ${entry.cwd ?? ""}`.toLowerCase().includes(wanted))
          .slice(0, 300);
  const none = Array.isArray(entries) && entries.length === 0;
  return (
    <Dialog title="Earlier conversations" onClose={onClose} width="wide">
      <p className="faint">
        What Claude Code keeps of its own conversations on this machine. Taking one in changes nothing there.
      </p>
      <input
        type="search"
        aria-label="Filter"
        placeholder="Filter"
        value={words}
        onChange={(event) => setWords(event.target.value)}
      />
      {entries instanceof Error && <p className="bad">{entries.message}</p>}
      {entries === null && <p className="faint">Looking …</p>}
      {none && <p className="faint">There are none.</p>}
      <ul className="history">
        {shown.map((entry) => (
          <li key={entry.cli_session_id}>
            <label className="option">
              <input
                type="checkbox"
                disabled={entry.session_id !== null}
                checked={entry.session_id !== null || chosen.has(entry.cli_session_id)}
                onChange={(event) => {
                  const next = new Set(chosen);
                  if (event.target.checked) next.add(entry.cli_session_id);
                  else next.delete(entry.cli_session_id);
                  setChosen(next);
                }}
              />
              <span>
                <strong>{entry.title || entry.cli_session_id}</strong>
                <span className="faint">
                  {entry.cwd === null ? "" : `${lastPart(entry.cwd)} · `}
                  {ago(entry.updated_at, now)}
                  {entry.session_id !== null && " · already here"}
                </span>
              </span>
              {entry.session_id !== null && (
                <button
                  type="button"
                  className="quiet"
                  onClick={() => {
                    goToSession(entry.session_id ?? "");
                    onClose();
                  }}
                >
                  Open
                </button>
              )}
            </label>
          </li>
        ))}
      </ul>
      {!none && (
        <footer className="actions">
          <button
            type="button"
            className="primary"
            disabled={chosen.size === 0 || doing}
            onClick={() => void take([...chosen])}
          >
            {doing ? "Taking in …" : `Take in ${several(chosen.size, "conversation")}`}
          </button>
          <button type="button" disabled={doing || shown.length === 0} onClick={() => void take([])}>
            All of them
          </button>
        </footer>
      )}
    </Dialog>
  );
}
