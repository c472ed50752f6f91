// What came from the agent and went to it, line by line, and the events that were made of it.
import { ArrowDownLeft, ArrowUpRight, Download } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Virtualizer } from "virtua";
import * as api from "../../api";
import type { Event, KeptLine, SessionId } from "../../contract";
import { bytes } from "../../text/format";
import { saveFile } from "../../text/save";
import { Menu } from "../../ui/menu";
import { store, useKnown, useOpened } from "../../use";
import { type FeedKind, type FeedRow, filtered, journal, nameOf, woven } from "./feed";
import { PanelFrame } from "./panel";

/** How often it is looked for more. */
const LOOK_MS = 700;
const KINDS: ReadonlyArray<readonly [FeedKind, string]> = [
  ["from_cli", "from the agent"],
  ["to_cli", "to the agent"],
  ["events", "events"],
];

/** The panel. */
export default function DebuggerPanel({ session, onClose }: { session: SessionId; onClose: () => void }) {
  const events = useEvents(session);
  const { lines, missing, problem } = useLines(session);
  const [words, setWords] = useState("");
  const [kinds, setKinds] = useState<ReadonlySet<FeedKind>>(new Set(["from_cli", "to_cli", "events"]));
  const [open, setOpen] = useState<string | null>(null);
  const rows = useMemo(() => woven(lines, events), [lines, events]);
  const shown = useMemo(() => filtered(rows, words, kinds), [rows, words, kinds]);
  const list = useFollowing(shown.length);
  const toggle = (kind: FeedKind) => {
    const next = new Set(kinds);
    if (!next.delete(kind)) next.add(kind);
    setKinds(next);
  };
  return (
    <PanelFrame
      title="Debugger"
      width="wide"
      onClose={onClose}
      tools={
        <Menu
          label="Save"
          entries={[
            {
              label: "Events, one per line",
              run: () => void saveEvents(session),
            },
            {
              label: "Lines, as a journal for `jackfield replay`",
              run: () => void saveLines(session),
            },
            {
              label: "What is shown",
              run: () => saveFile(`${session}.shown.ndjson`, "application/x-ndjson", shown.map(asRecord)),
            },
          ]}
        >
          <Download size={16} />
        </Menu>
      }
    >
      <div className="feed-tools">
        <input
          type="search"
          aria-label="Filter"
          placeholder={`Filter ${rows.length} rows`}
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
        <div className="segments" role="group" aria-label="What is shown">
          {KINDS.map(([kind, label]) => (
            <button key={kind} type="button" aria-pressed={kinds.has(kind)} onClick={() => toggle(kind)}>
              {label}
            </button>
          ))}
        </div>
      </div>
      {problem !== null ? (
        <p className="faint">The agent’s own lines cannot be shown: {problem}</p>
      ) : missing ? (
        <p className="faint">The newest lines of the agent are kept; earlier ones are gone, their events are not.</p>
      ) : lines.length === 0 ? (
        <p className="faint">No lines yet: they are kept from the moment the agent runs.</p>
      ) : null}
      <div ref={list} className="feed" tabIndex={0} role="log" aria-label="Lines and events" aria-live="off">
        <Virtualizer data={shown} scrollRef={list}>
          {(row) => {
            const key = row.kind === "line" ? `line ${row.line.number}` : `event ${row.event.seq}`;
            return <Row key={key} row={row} open={open === key} onToggle={() => setOpen(open === key ? null : key)} />;
          }}
        </Virtualizer>
      </div>
    </PanelFrame>
  );
}

function Row({ row, open, onToggle }: { row: FeedRow; open: boolean; onToggle: () => void }) {
  if (row.kind === "event") {
    const { event } = row;
    return (
      <div className={row.ofLine ? "feed-row event of-line" : "feed-row event"}>
        <button type="button" className="quiet" aria-expanded={open} onClick={onToggle}>
          <span className="feed-number">{event.seq}</span> <strong>{event.type}</strong>{" "}
          <span className="feed-glimpse">{glimpse(event)}</span>
        </button>
        {open && (
          <pre className="json" tabIndex={0}>
            {JSON.stringify(event, null, 2)}
          </pre>
        )}
      </div>
    );
  }
  const { line, made } = row;
  const Icon = line.direction === "from_cli" ? ArrowDownLeft : ArrowUpRight;
  return (
    <div className={`feed-row line-of ${line.direction} ${made === 0 ? "silent" : ""}`}>
      <button
        type="button"
        className="quiet"
        aria-expanded={open}
        title={made === 0 ? "No event was made of this line" : undefined}
        onClick={onToggle}
      >
        <Icon size={14} aria-label={line.direction === "from_cli" ? "from the agent" : "to the agent"} />
        <span className="feed-number">{time(line.at)}</span> <strong>{nameOf(line)}</strong>{" "}
        <span className="feed-glimpse">{line.text.slice(0, 160)}</span>
      </button>
      {open && (
        <pre className="json" tabIndex={0}>
          {readable(line)}
          {line.cut && `\n… ${bytes(line.bytes)} in all`}
        </pre>
      )}
    </div>
  );
}

/** Events from the store, all of them, and what comes. */
function useEvents(session: SessionId): readonly Event[] {
  const seq = useOpened(session, (opened) => opened.transcript.seq);
  const [events, setEvents] = useState<readonly Event[]>([]);
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
    const timer = setTimeout(() => void load(), last === 0 ? 0 : LOOK_MS);
    return () => clearTimeout(timer);
  }, [last, seq, load]);
  return events;
}

/** The lines that the host keeps, and what comes; whether earlier ones are gone; why there are none. */
function useLines(session: SessionId) {
  const [lines, setLines] = useState<readonly KeptLine[]>([]);
  const [missing, setMissing] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const online = useKnown((known) => known.link.state === "online");
  useEffect(() => {
    if (!online) return;
    let timer: ReturnType<typeof setTimeout>;
    let wanted = true;
    let after = 0;
    setLines([]);
    const look = async () => {
      try {
        const found = await api.rawLines(session, after);
        if (!wanted) return;
        setProblem(null);
        if (found.missing) setMissing(true);
        const last = found.lines.at(-1);
        if (last !== undefined) {
          after = last.number;
          setLines((before) => [...before, ...found.lines]);
        }
      } catch (error) {
        if (wanted) setProblem(error instanceof Error ? error.message : String(error));
      }
      if (wanted) timer = setTimeout(() => void look(), LOOK_MS);
    };
    void look();
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [session, online]);
  return { lines, missing, problem };
}

/** Stays at the end while the end is in view. */
function useFollowing(count: number) {
  const list = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  useEffect(() => {
    const box = list.current;
    if (box === null) return;
    const look = () => {
      following.current = box.scrollHeight - box.scrollTop - box.clientHeight < 60;
    };
    box.addEventListener("scroll", look);
    return () => box.removeEventListener("scroll", look);
  }, []);
  useEffect(() => {
    const box = list.current;
    if (box === null || !following.current) return;
    const frame = requestAnimationFrame(() => {
      box.scrollTop = box.scrollHeight;
    });
    return () => cancelAnimationFrame(frame);
  }, [count]);
  return list;
}

/** All events, whatever is shown of them. */
async function saveEvents(session: SessionId): Promise<void> {
  const parts: string[] = [];
  try {
    for (let after = 0; ; ) {
      const part = await api.events(session, after);
      const last = part.trimEnd().split("\n").at(-1) ?? "";
      if (last === "") break;
      parts.push(part);
      after = (JSON.parse(last) as Event).seq;
    }
    saveFile(`${session}.events.ndjson`, "application/x-ndjson", parts);
  } catch (error) {
    store.tell(error instanceof Error ? error.message : String(error));
  }
}

/** All lines that are kept. */
async function saveLines(session: SessionId): Promise<void> {
  try {
    const { lines } = await api.rawLines(session, 0);
    saveFile(`${session}.journal.jsonl`, "application/x-ndjson", journal(lines));
  } catch (error) {
    store.tell(error instanceof Error ? error.message : String(error));
  }
}

const asLine = (value: unknown) => `${JSON.stringify(value)}\n`;

function asRecord(row: FeedRow): string {
  return asLine(row.kind === "line" ? row.line : row.event);
}

function glimpse(event: Event): string {
  const { type: _, seq: _1, at: _2, session_id: _3, turn: _4, ...rest } = event;
  return JSON.stringify(rest).slice(0, 160);
}

function readable({ text, cut }: KeptLine): string {
  if (cut) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function time(at: number): string {
  const when = new Date(at);
  return `${when.toTimeString().slice(0, 8)}.${String(when.getMilliseconds()).padStart(3, "0")}`;
}
