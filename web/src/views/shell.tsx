// The frame of the page: the sessions beside what is looked at; on a phone one of them at a time.
import { Archive, History, Plus, Search, Settings, WifiOff, X } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { at } from "../place";
import { go, useRoute } from "../route";
import { several } from "../text/format";
import { useNow } from "../ui/time";
import { store, useKnown } from "../use";
import { EditorList } from "./editor/list";
import { type Opening, useGlobalKeys } from "./global-keys";
import { KeysDialog } from "./keys";
import { Palette } from "./palette";
import { SessionView } from "./session/session";
import { HistoryImport } from "./sessions/history";
import { SessionList } from "./sessions/list";
import { NewSession } from "./sessions/new-session";
import { SearchResults } from "./sessions/search";

const SettingsView = lazy(() => import("./settings/settings"));
const EditorView = lazy(() => import("./editor/editor"));

/** The page behind the login. */
export function Shell() {
  const route = useRoute();
  const [opening, setOpening] = useState<Opening | null>(null);
  const [words, setWords] = useState("");
  const [show, setShow] = useState<"open" | "archived">("open");
  useGlobalKeys(route, setOpening);
  const close = () => setOpening(null);
  const chosen = route.at === "session" ? route.id : null;
  return (
    <div className={`shell ${route.at === "home" ? "at-home" : "away"}`}>
      <nav className="sidebar" aria-label="Sessions">
        <header>
          <a
            className="brand"
            href={at("/")}
            onClick={(event) => {
              event.preventDefault();
              go({ at: "home" });
            }}
          >
            <img src={at("/icon.svg")} alt="" width={22} height={22} /> Jackfield
          </a>
          <Waiting />
          <button
            type="button"
            className="primary icon"
            aria-label="New session"
            title="New session (Ctrl+Shift+O)"
            onClick={() => setOpening("new")}
          >
            <Plus size={18} />
          </button>
        </header>
        <label className="search">
          <Search size={15} aria-hidden />
          <input
            type="search"
            aria-label="Search all conversations"
            placeholder="Search all conversations"
            value={words}
            onChange={(event) => setWords(event.target.value)}
          />
        </label>
        <div className="sidebar-body">
          <EditorList route={route} />
          {words.trim() !== "" ? (
            <SearchResults words={words.trim()} />
          ) : (
            <SessionList key={show} chosen={chosen} show={show} />
          )}
        </div>
        <footer>
          <button
            type="button"
            className="quiet"
            aria-pressed={show === "archived"}
            onClick={() => setShow(show === "open" ? "archived" : "open")}
          >
            <Archive size={15} aria-hidden /> Archive
          </button>
          <button type="button" className="quiet" onClick={() => setOpening("history")}>
            <History size={15} aria-hidden /> History
          </button>
          <span className="space" />
          <button
            type="button"
            className="quiet icon"
            aria-label="Settings"
            title="Settings"
            onClick={() => go({ at: "settings", part: "general" })}
          >
            <Settings size={17} />
          </button>
        </footer>
      </nav>
      <main className="main">
        <LinkBanner />
        {route.at === "session" && <SessionView key={route.id} session={route.id} seq={route.seq} />}
        {route.at === "settings" && (
          <Suspense>
            <SettingsView part={route.part} />
          </Suspense>
        )}
        {route.at === "editor" && (
          <Suspense>
            <EditorView route={route} />
          </Suspense>
        )}
        {route.at === "home" && <Welcome onNew={() => setOpening("new")} />}
      </main>
      <Tolds />
      {opening === "new" && <NewSession onClose={close} />}
      {opening === "history" && <HistoryImport onClose={close} />}
      {opening === "keys" && <KeysDialog onClose={close} />}
      {opening === "palette" && <Palette session={chosen} onClose={close} onOpen={setOpening} />}
    </div>
  );
}

/** How many questions wait, in all sessions. */
function Waiting() {
  const count = useKnown((known) => {
    let waiting = known.editor?.diffs.length ?? 0;
    for (const summary of known.sessions.values()) waiting += summary.pending.length;
    return waiting;
  });
  return (
    <span className="waiting" role="status">
      {count > 0 && <span className="tag warn">{several(count, "question")}</span>}
    </span>
  );
}

function Welcome({ onNew }: { onNew: () => void }) {
  const listed = useKnown((known) => known.listed);
  const count = useKnown((known) => known.sessions.size);
  if (!listed) return null;
  return (
    <div className="empty welcome">
      <img src={at("/icon.svg")} alt="" width={64} height={64} />
      <h1>{count === 0 ? "Plug in" : "Choose a session"}</h1>
      <p className="faint">
        {count === 0
          ? "Begin a session with Claude Code in a folder of yours, or look around with the demo agent."
          : "Or begin a new one."}
      </p>
      <button type="button" className="primary" onClick={onNew}>
        <Plus size={16} aria-hidden /> New session
      </button>
      <p className="faint">
        <kbd>Ctrl K</kbd> finds everything, <kbd>?</kbd> lists the keys
      </p>
    </div>
  );
}

/** Says that the host is away, and since when it is tried. */
function LinkBanner() {
  const link = useKnown((known) => known.link);
  const [late, setLate] = useState(false);
  const away = link.state !== "online";
  useEffect(() => {
    if (!away) return setLate(false);
    // A short hiccup is no news.
    const timer = setTimeout(() => setLate(true), 800);
    return () => clearTimeout(timer);
  }, [away]);
  if (!away || !late) return null;
  return (
    <div className="banner" role="status">
      <WifiOff size={16} aria-hidden />
      <span>The host is away. What you see may be old; what you send waits.</span>
      {link.state === "offline" && <Retry at={link.retryAt} />}
    </div>
  );
}

function Retry({ at }: { at: number }) {
  const now = useNow(1000);
  const left = Math.max(0, Math.ceil((at - now) / 1000));
  return (
    <button type="button" onClick={() => store.connection.nudge()}>
      Try now{left > 0 ? ` (${left} s)` : ""}
    </button>
  );
}

/** Words for the person. */
function Tolds() {
  const tolds = useKnown((known) => known.rejections);
  return (
    <div className="tolds" role="status" aria-live="polite">
      {tolds.map((told) => (
        <ToldView key={told.id} id={told.id} text={told.text} />
      ))}
    </div>
  );
}

function ToldView({ id, text }: { id: number; text: string }) {
  useEffect(() => {
    const timer = setTimeout(() => store.putAway(id), 8000);
    return () => clearTimeout(timer);
  }, [id]);
  return (
    <div className="told">
      <span>{text}</span>
      <button type="button" className="quiet icon" aria-label="Put away" onClick={() => store.putAway(id)}>
        <X size={14} />
      </button>
    </div>
  );
}
