// What can be done with a session as a whole.
import {
  Archive,
  ArchiveRestore,
  Bug,
  CircleDollarSign,
  CircleX,
  Download,
  Ellipsis,
  GitFork,
  Pencil,
  Plug,
  Terminal,
  Trash2,
} from "lucide-react";
import { useState } from "react";
import * as api from "../../api";
import type { SessionId, SessionSummary } from "../../contract";
import { go } from "../../route";
import { copyText } from "../../text/code";
import { saveFile } from "../../text/save";
import { Dialog } from "../../ui/dialog";
import { Menu } from "../../ui/menu";
import { store } from "../../use";
import { fork } from "./fork";
import type { Panel } from "./session";

type Asking = "rename" | "delete" | "budget";

/** The menu of a session. */
export function SessionMenu({ summary, onPanel }: { summary: SessionSummary; onPanel: (panel: Panel | null) => void }) {
  const [asking, setAsking] = useState<Asking | null>(null);
  const { session_id: id, archived, cli_session_id: cli } = summary;
  const icon = { size: 15, "aria-hidden": true } as const;
  return (
    <>
      <Menu
        label="More"
        entries={[
          { label: "Rename …", icon: <Pencil {...icon} />, run: () => setAsking("rename") },
          { label: "Begin a copy of it", icon: <GitFork {...icon} />, run: () => void fork(id) },
          {
            label: archived ? "Bring back" : "Archive",
            icon: archived ? <ArchiveRestore {...icon} /> : <Archive {...icon} />,
            run: () => void archive(id, !archived),
          },
          { label: "Save as Markdown", icon: <Download {...icon} />, run: () => void save(summary, "markdown") },
          { label: "Save as JSON", icon: <Download {...icon} />, run: () => void save(summary, "json") },
          ...(cli === null
            ? []
            : [
                {
                  label: "Copy the command to go on in a terminal",
                  icon: <Terminal {...icon} />,
                  run: () => void copyText(`claude --resume ${cli}`),
                },
              ]),
          { label: "What it may cost …", icon: <CircleDollarSign {...icon} />, run: () => setAsking("budget") },
          { label: "MCP servers", icon: <Plug {...icon} />, run: () => onPanel({ kind: "servers" }) },
          { label: "Debugger", icon: <Bug {...icon} />, run: () => onPanel({ kind: "debugger" }) },
          ...(summary.state === "ended"
            ? []
            : [
                { label: "End its run", icon: <CircleX {...icon} />, run: () => void store.ask({ type: "close" }, id) },
              ]),
          { label: "Delete …", tone: "danger" as const, icon: <Trash2 {...icon} />, run: () => setAsking("delete") },
        ]}
      >
        <Ellipsis size={18} />
      </Menu>
      {asking === "rename" && <RenameDialog summary={summary} onClose={() => setAsking(null)} />}
      {asking === "budget" && <BudgetDialog summary={summary} onClose={() => setAsking(null)} />}
      {asking === "delete" && (
        <Dialog title="Delete this session?" onClose={() => setAsking(null)}>
          <p>It is removed from this host. The agent’s own record of the conversation stays.</p>
          <footer className="actions">
            <button
              type="button"
              className="danger"
              onClick={async () => {
                if ((await store.ask({ type: "delete" }, id)) !== null) go({ at: "home" });
              }}
            >
              Delete
            </button>
            <button type="button" onClick={() => setAsking(null)}>
              Cancel
            </button>
          </footer>
        </Dialog>
      )}
    </>
  );
}

/** Gives a session a title. */
export function RenameDialog({ summary, onClose }: { summary: SessionSummary; onClose: () => void }) {
  const [title, setTitle] = useState(summary.title);
  return (
    <Dialog title="Rename" onClose={onClose}>
      <form
        onSubmit={async (event) => {
          event.preventDefault();
          if ((await store.ask({ type: "rename", title: title.trim() }, summary.session_id)) !== null) onClose();
        }}
      >
        <label className="field">
          <span>Title</span>
          <input autoFocus value={title} onChange={(event) => setTitle(event.target.value)} />
        </label>
        <footer className="actions">
          <button type="submit" className="primary" disabled={title.trim() === ""}>
            Rename
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

function BudgetDialog({ summary, onClose }: { summary: SessionSummary; onClose: () => void }) {
  const [limit, setLimit] = useState(summary.max_budget_usd === null ? "" : String(summary.max_budget_usd));
  return (
    <Dialog title="What it may cost" onClose={onClose}>
      <form
        onSubmit={async (event) => {
          event.preventDefault();
          const max_budget_usd = limit.trim() === "" ? null : Number(limit);
          if ((await store.ask({ type: "set_budget", max_budget_usd }, summary.session_id)) !== null) onClose();
        }}
      >
        <label className="field">
          <span>US dollars in all; empty for no limit</span>
          <input
            autoFocus
            type="number"
            min="0"
            step="0.01"
            value={limit}
            onChange={(event) => setLimit(event.target.value)}
          />
        </label>
        <footer className="actions">
          <button type="submit" className="primary">
            Set
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** Puts a session out of the way, or brings it back. */
export async function archive(id: SessionId, archived: boolean): Promise<void> {
  await store.ask({ type: "archive", archived }, id);
}

async function save(summary: SessionSummary, format: "markdown" | "json"): Promise<void> {
  try {
    const blob = await api.exported(summary.session_id, format);
    const name = summary.title.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60) || "session";
    saveFile(`${name}.${format === "json" ? "json" : "md"}`, blob.type, [blob]);
  } catch (error) {
    store.tell(error instanceof Error ? error.message : String(error));
  }
}
