// The command palette: sessions and actions, found by a few letters.
import { useEffect, useId, useMemo, useRef, useState } from "react";
import type { SessionId } from "../contract";
import { go, goToSession } from "../route";
import { lastPart } from "../text/format";
import { Dialog } from "../ui/dialog";
import { store, useKnown } from "../use";
import { MODES } from "./composer/modes";
import type { Opening } from "./global-keys";
import { fork } from "./session/fork";
import { archive } from "./session/session-menu";

interface Entry {
  readonly name: string;
  readonly about: string;
  readonly run: () => void;
}

const AT_MOST = 40;

/** The dialog. */
export function Palette({
  session,
  onClose,
  onOpen,
}: {
  session: SessionId | null;
  onClose: () => void;
  onOpen: (opening: Opening) => void;
}) {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const name = useId();
  const sessions = useKnown((known) => known.sessions);
  const running = session !== null && sessions.get(session)?.state === "running";
  const entries = useMemo(
    () => [...actions(session, running, onOpen), ...places(sessions)],
    [session, running, onOpen, sessions],
  );
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = entries
    .filter((entry) => wanted.every((word) => `${entry.name} ${entry.about}`.toLowerCase().includes(word)))
    .slice(0, AT_MOST);
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: "nearest" });
  }, [at]);
  const run = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    onClose();
    entry.run();
  };
  return (
    <Dialog title="Go to, or do" onClose={onClose}>
      <input
        autoFocus
        role="combobox"
        aria-expanded
        aria-controls={name}
        aria-activedescendant={`${name}-${at}`}
        aria-label="Go to, or do"
        placeholder="A session or an action"
        value={words}
        onChange={(event) => {
          setWords(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          if (step !== undefined && shown.length > 0) {
            event.preventDefault();
            setAt((at + step + shown.length) % shown.length);
          } else if (event.key === "Enter") {
            event.preventDefault();
            run(shown[at]);
          }
        }}
      />
      <ul ref={list} id={name} className="palette" role="listbox" aria-label="What was found">
        {shown.map((entry, place) => (
          <li
            key={`${entry.name} ${entry.about}`}
            id={`${name}-${place}`}
            role="option"
            aria-selected={place === at}
            onPointerMove={() => setAt(place)}
            onClick={() => run(entry)}
          >
            <span>{entry.name}</span>
            <span className="faint">{entry.about}</span>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function actions(session: SessionId | null, running: boolean, onOpen: (opening: Opening) => void): Entry[] {
  const everywhere: Entry[] = [
    { name: "New session", about: "Ctrl+Shift+O", run: () => onOpen("new") },
    { name: "Earlier conversations", about: "take them in", run: () => onOpen("history") },
    { name: "Keys", about: "?", run: () => onOpen("keys") },
    { name: "Settings", about: "", run: () => go({ at: "settings", part: "general" }) },
    { name: "Rules", about: "settings", run: () => go({ at: "settings", part: "rules" }) },
    { name: "Trusted folders", about: "settings", run: () => go({ at: "settings", part: "trust" }) },
    { name: "MCP servers", about: "settings", run: () => go({ at: "settings", part: "servers" }) },
    { name: "Usage and costs", about: "settings", run: () => go({ at: "settings", part: "usage" }) },
    { name: "Audit: what was decided", about: "settings", run: () => go({ at: "settings", part: "audit" }) },
    { name: "Devices, QR code", about: "settings", run: () => go({ at: "settings", part: "devices" }) },
  ];
  if (session === null) return everywhere;
  const stop = { name: "Stop this turn", about: "Esc", run: () => void store.ask({ type: "interrupt" }, session) };
  return [
    ...(running ? [stop] : []),
    ...MODES.map((mode) => ({
      name: `Mode: ${mode.label}`,
      about: mode.about,
      run: () => void store.ask({ type: "set_mode", permission_mode: mode.name }, session),
    })),
    { name: "Begin a copy of this session", about: "fork", run: () => void fork(session) },
    { name: "Archive this session", about: "", run: () => void archive(session, true) },
    { name: "Try the last turn again", about: "retry", run: () => void store.ask({ type: "retry" }, session) },
    ...everywhere,
  ];
}

function places(
  sessions: ReadonlyMap<SessionId, { session_id: SessionId; title: string; cwd: string; updated_at: number }>,
): Entry[] {
  return [...sessions.values()]
    .sort((a, b) => b.updated_at - a.updated_at)
    .map((summary) => ({
      name: summary.title || "New session",
      about: lastPart(summary.cwd),
      run: () => goToSession(summary.session_id),
    }));
}
