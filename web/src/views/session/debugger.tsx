// The events of a session as they are, with a filter, to see what was made of what the agent said.
import { Download } from "lucide-react";
import { useCallback, useEffect, useMemo, useState } from "react";
import { Virtualizer } from "virtua";
import * as api from "../../api";
import type { Event, SessionId } from "../../contract";
import { useOpened } from "../../use";
import { PanelFrame } from "./panel";

/** The panel. */
export default function DebuggerPanel({ session, onClose }: { session: SessionId; onClose: () => void }) {
  const seq = useOpened(session, (opened) => opened.transcript.seq);
  const [events, setEvents] = useState<readonly Event[]>([]);
  const [words, setWords] = useState("");
  const [chosen, setChosen] = useState<number | null>(null);
  const last = events.at(-1)?.seq ?? 0;
  const load = useCallback(async () => {
    const text = await api.events(session, last).catch(() => "");
    const fresh = text
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Event);
    if (fresh.length > 0)
      setEvents((before) => [...before, ...fresh.filter((event) => event.seq > (before.at(-1)?.seq ?? 0))]);
  }, [session, last]);
  useEffect(() => {
    if (last >= seq) return;
    const timer = setTimeout(() => void load(), last === 0 ? 0 : 500);
    return () => clearTimeout(timer);
  }, [last, seq, load]);
  const shown = useMemo(() => {
    const wanted = words.trim().toLowerCase();
    return wanted === "" ? events : events.filter((event) => JSON.stringify(event).toLowerCase().includes(wanted));
  }, [events, words]);
  const save = () => {
    const blob = new Blob(
      events.map((event) => `${JSON.stringify(event)}\n`),
      { type: "application/x-ndjson" },
    );
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${session}.ndjson`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  return (
    <PanelFrame
      title="Events"
      onClose={onClose}
      tools={
        <button
          type="button"
          className="quiet icon"
          aria-label="Save all events"
          title="Save all events"
          onClick={save}
        >
          <Download size={16} />
        </button>
      }
    >
      <input
        type="search"
        aria-label="Filter"
        placeholder={`Filter ${events.length} events`}
        value={words}
        onChange={(event) => setWords(event.target.value)}
      />
      <div className="events" tabIndex={0}>
        <Virtualizer data={shown}>
          {(event) => (
            <div key={event.seq} className="event">
              <button
                type="button"
                className="quiet"
                aria-expanded={chosen === event.seq}
                onClick={() => setChosen(chosen === event.seq ? null : event.seq)}
              >
                <span className="faint">{event.seq}</span> <strong>{event.type}</strong>{" "}
                <span className="event-glimpse">{glimpse(event)}</span>
              </button>
              {chosen === event.seq && (
                <pre className="json" tabIndex={0}>
                  {JSON.stringify(event, null, 2)}
                </pre>
              )}
            </div>
          )}
        </Virtualizer>
      </div>
    </PanelFrame>
  );
}

function glimpse(event: Event): string {
  const { type: _, seq: _1, at: _2, session_id: _3, turn: _4, ...rest } = event;
  return JSON.stringify(rest).slice(0, 120);
}
