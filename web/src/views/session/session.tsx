// A session: its conversation, its desk, its composer, and panels beside them.
import { ChevronLeft, FilePen, ListTodo } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import type { Seq, SessionId, SessionSummary, Uuid } from "../../contract";
import { go } from "../../route";
import { dollars, lastPart, withoutMarks } from "../../text/format";
import { OpenFile } from "../../text/markdown";
import { find } from "../../transcript/items";
import { useNow } from "../../ui/time";
import { store, useOpened, useSummary } from "../../use";
import { Composer } from "../composer/composer";
import { Desk } from "../desk/desk";
import { StateDot } from "../sessions/state";
import { RewindDialog } from "./rewind";
import { SessionMenu } from "./session-menu";
import { TimelineView } from "./timeline";

const ChangesPanel = lazy(() => import("./changes"));
const WorkPanel = lazy(() => import("./work"));
const DebuggerPanel = lazy(() => import("./debugger"));
const FilePanel = lazy(() => import("./file"));
const ServersPanel = lazy(() => import("./servers"));

/** What is shown beside the conversation. */
export type Panel =
  | { readonly kind: "changes" | "work" | "debugger" | "servers" }
  | { readonly kind: "file"; readonly path: string; readonly line: number | null };

/** A session in full. */
export function SessionView({ session, seq }: { session: SessionId; seq: Seq | null }) {
  const summary = useSummary(session);
  const gone = useOpened(session, (opened) => opened.gone);
  const [panel, setPanel] = useState<Panel | null>(null);
  const [rewinding, setRewinding] = useRewinding();
  useEffect(() => {
    store.open(session);
    return () => store.close(session);
  }, [session]);
  if (gone !== null) {
    return (
      <div className="empty">
        <p>{gone}</p>
        <button type="button" onClick={() => go({ at: "home" })}>
          To the sessions
        </button>
      </div>
    );
  }
  const openFile = (path: string, line: number | null) => setPanel({ kind: "file", path, line });
  return (
    <OpenFile value={openFile}>
      <div className="session">
        <Header session={session} summary={summary} panel={panel} onPanel={setPanel} />
        <div className="session-body">
          <div className="conversation">
            <TimelineView key={session} session={session} wanted={seq} />
            <Empty session={session} />
            <Limit session={session} />
            <Desk session={session} />
            <Composer key={`composer ${session}`} session={session} />
            <Announcer session={session} />
          </div>
          {panel !== null && (
            <Suspense fallback={<aside className="panel" />}>
              {panel.kind === "changes" && <ChangesPanel session={session} onClose={() => setPanel(null)} />}
              {panel.kind === "work" && <WorkPanel session={session} onClose={() => setPanel(null)} />}
              {panel.kind === "debugger" && <DebuggerPanel session={session} onClose={() => setPanel(null)} />}
              {panel.kind === "servers" && <ServersPanel session={session} onClose={() => setPanel(null)} />}
              {panel.kind === "file" && (
                <FilePanel session={session} path={panel.path} line={panel.line} onClose={() => setPanel(null)} />
              )}
            </Suspense>
          )}
        </div>
      </div>
      {rewinding !== null && (
        <RewindDialog
          session={session}
          uuid={rewinding.uuid}
          words={rewinding.words}
          onClose={() => setRewinding(null)}
        />
      )}
    </OpenFile>
  );
}

interface Rewinding {
  readonly uuid: Uuid;
  readonly words: string;
}

/** The prompt that a key wants to go back to. */
function useRewinding() {
  const [rewinding, setRewinding] = useState<Rewinding | null>(null);
  useEffect(() => {
    const asked = (event: Event) => setRewinding((event as CustomEvent<Rewinding>).detail);
    window.addEventListener("jackfield:rewind", asked);
    return () => window.removeEventListener("jackfield:rewind", asked);
  }, []);
  return [rewinding, setRewinding] as const;
}

function Header({
  session,
  summary,
  panel,
  onPanel,
}: {
  session: SessionId;
  summary: SessionSummary | undefined;
  panel: Panel | null;
  onPanel: (panel: Panel | null) => void;
}) {
  const files = useOpened(session, (opened) => opened.timeline.files.size);
  const tasks = useOpened(
    session,
    ({ transcript }) => transcript.tasks.filter((task) => task.status === "running").length,
  );
  const todos = useOpened(session, ({ transcript }) => transcript.todos);
  const cost = useOpened(session, ({ transcript }) => transcript.total_cost_usd);
  const done = todos?.items.filter((todo) => todo.status === "completed").length ?? 0;
  const toggle = (kind: "changes" | "work") => onPanel(panel?.kind === kind ? null : { kind });
  const hasWork = tasks > 0 || (todos?.items.length ?? 0) > 0;
  return (
    <header className="session-head">
      <button type="button" className="quiet icon back" aria-label="To the sessions" onClick={() => go({ at: "home" })}>
        <ChevronLeft size={20} />
      </button>
      <div className="session-name">
        <h1 title={summary?.title}>{summary?.title || "Session"}</h1>
        <p className="faint">
          {summary && <StateDot summary={summary} words="shown" />}
          {cost > 0 && <span title="What this session has cost">{dollars(cost)}</span>}
          {summary && (
            <span className="folder" title={summary.cwd}>
              {lastPart(summary.cwd)}
            </span>
          )}
          {summary?.agent === "demo" && <span className="tag">demo</span>}
          {summary && !summary.trusted && summary.agent !== "demo" && (
            <span className="tag" title="The folder's own settings, hooks and servers take no part">
              not trusted
            </span>
          )}
        </p>
      </div>
      {hasWork && (
        <button type="button" className="quiet" aria-pressed={panel?.kind === "work"} onClick={() => toggle("work")}>
          <ListTodo size={16} aria-hidden />
          <span>
            {todos !== null && todos.items.length > 0 ? `${done}/${todos.items.length}` : ""}
            {tasks > 0 && ` ${tasks} running`}
          </span>
          <span className="unseen">to-dos and background work</span>
        </button>
      )}
      {files > 0 && (
        <button
          type="button"
          className="quiet"
          aria-pressed={panel?.kind === "changes"}
          onClick={() => toggle("changes")}
        >
          <FilePen size={16} aria-hidden /> <span>{files}</span>
          <span className="unseen">files changed</span>
        </button>
      )}
      {summary && <SessionMenu summary={summary} onPanel={onPanel} />}
    </header>
  );
}

/** The account's limit, when it is near or reached. */
function Limit({ session }: { session: SessionId }) {
  const limit = useOpened(session, (opened) => opened.transcript.rate_limit);
  const now = useNow(30_000);
  const over =
    limit === null || limit.status === "allowed" || (limit.resets_at !== null && limit.resets_at * 1000 < now);
  if (over) return null;
  return (
    <div className="limit">
      <p className={limit.status === "rejected" ? "line error" : "line warning"} role="status">
        <span>
          {limit.rate_limit_message}
          {limit.resets_at !== null &&
            ` (until ${new Date(limit.resets_at * 1000).toLocaleString([], { weekday: "short", hour: "2-digit", minute: "2-digit" })})`}
        </span>
      </p>
    </div>
  );
}

/** Says to those who listen what the others see: that a turn is over, and how its answer begins. */
function Announcer({ session }: { session: SessionId }) {
  const words = useOpened(session, ({ transcript, timeline }) => {
    if (transcript.state === "running") return "";
    const said = timeline.rows
      .slice(-6)
      .reverse()
      .map((seq) => find(transcript.items, seq)?.content);
    const last = said.find((content) => content?.type === "text");
    return last?.type === "text" ? `The turn is over. ${withoutMarks(last.text).slice(0, 300)}` : "";
  });
  return (
    <p className="unseen" role="status" aria-live="polite">
      {words}
    </p>
  );
}

/** What is said before anything was said. */
function Empty({ session }: { session: SessionId }) {
  const nothing = useOpened(session, (opened) => opened.current && opened.timeline.rows.length === 0);
  const summary = useSummary(session);
  if (!nothing || summary === undefined) return null;
  return (
    <div className="nothing-said">
      <h2>What shall be done in {lastPart(summary.cwd)}?</h2>
      {summary.agent === "demo" && (
        <p className="faint">This is the demo agent: it changes nothing on your disk. Say “tour” to see everything.</p>
      )}
    </div>
  );
}
