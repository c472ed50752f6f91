// The folders that somebody was asked about: what was said, what they bring now, and taking it back.
import { ChevronRight, ShieldCheck, ShieldQuestion, ShieldX } from "lucide-react";
import { useCallback, useEffect, useState } from "react";
import * as api from "../../api";
import type { FolderTrust, FolderVerdict } from "../../contract";
import { several } from "../../text/format";
import { Shown } from "../../text/shown";
import { BroughtList } from "../sessions/trust";

/** The list. */
export function TrustedFolders() {
  const [folders, setFolders] = useState<readonly FolderVerdict[] | Error | null>(null);
  const load = useCallback(() => {
    api.folderVerdicts().then((found) => setFolders(found.folders), setFolders);
  }, []);
  useEffect(load, [load]);
  return (
    <section>
      <h2>Trusted folders</h2>
      <p className="faint">
        What a folder brings by itself (hooks, MCP servers, variables, settings) takes part only in folders that you
        trust, and only as long as it is what you were shown. A folder that you forget is asked about again.
      </p>
      {folders === null ? (
        <p className="faint">Loading …</p>
      ) : folders instanceof Error ? (
        <p className="bad">{folders.message}</p>
      ) : folders.length === 0 ? (
        <p className="faint">You were not asked about any folder yet.</p>
      ) : (
        <ul className="trusted">
          {folders.map((folder) => (
            <FolderRow key={folder.path} folder={folder} onForgotten={load} />
          ))}
        </ul>
      )}
    </section>
  );
}

function FolderRow({ folder, onForgotten }: { folder: FolderVerdict; onForgotten: () => void }) {
  const [open, setOpen] = useState(false);
  const [now, setNow] = useState<FolderTrust | Error | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let wanted = true;
    const told = (found: FolderTrust | Error) => wanted && setNow(found);
    api.folderTrust(folder.path).then(told, told);
    return () => {
      wanted = false;
    };
  }, [folder.path]);
  const [Icon, words] = standing(folder, now);
  const brings = now === null || now instanceof Error ? [] : now.brings;
  return (
    <li>
      <Icon size={18} aria-hidden />
      <div>
        <p className="path">
          <Shown text={folder.path} />
        </p>
        <p className="faint">
          {words}
          {folder.decided_at !== null && ` · ${new Date(folder.decided_at).toLocaleString()}`}
        </p>
        {problem !== null && <p className="bad">{problem}</p>}
        {brings.length > 0 && (
          <button type="button" className="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
            <ChevronRight size={14} className="turns" aria-hidden /> It brings {several(brings.length, "thing")}
          </button>
        )}
        {open && <BroughtList brings={brings} open />}
      </div>
      <button
        type="button"
        aria-label={`${folder.trusted ? "Trust no longer" : "Ask me again"}: ${folder.path}`}
        onClick={() => api.forgetFolder(folder.path).then(onForgotten, (error: Error) => setProblem(error.message))}
      >
        {folder.trusted ? "Trust no longer" : "Ask me again"}
      </button>
    </li>
  );
}

function standing(folder: FolderVerdict, now: FolderTrust | Error | null) {
  if (!folder.trusted) return [ShieldX, "left out: nothing of it runs by itself"] as const;
  if (now instanceof Error) return [ShieldQuestion, "it cannot be looked into now"] as const;
  if (now?.changed)
    return [ShieldQuestion, "was trusted; it brings something else now, so nothing of it runs"] as const;
  return [ShieldCheck, "trusted, with what it brings"] as const;
}
