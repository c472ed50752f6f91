// Files changed: by this session, or in the folder as a whole; lines can be commented, and the comments sent.
import { ChevronRight, MessageSquarePlus } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import * as api from "../../api";
import type { ContentOf, FileDiffs, Seq, SessionId } from "../../contract";
import { compare, type DiffLine, readDiff } from "../../text/diff";
import { DiffCount, DiffView } from "../../text/diff-view";
import { below, several } from "../../text/format";
import { find } from "../../transcript/items";
import type { Transcript } from "../../transcript/reduce";
import { useOpened, useSummary } from "../../use";
import { draftOf, putDraft } from "../composer/draft";
import { PanelFrame } from "./panel";

interface Changed {
  readonly path: string;
  readonly lines: readonly DiffLine[];
  readonly note: string | null;
}

type Source = "session" | "folder";

/** The panel. */
export default function ChangesPanel({ session, onClose }: { session: SessionId; onClose: () => void }) {
  const [source, setSource] = useState<Source>("session");
  const [comments, setComments] = useState<ReadonlyMap<string, string>>(new Map());
  const ours = useSessionChanges(session);
  const folder = useFolderChanges(session, source === "folder");
  const changed = source === "session" ? ours : folder;
  const written = [...comments].filter(([, text]) => text.trim() !== "");
  const send = () => {
    const words = written.map(([place, text]) => `- ${place}: ${text.trim()}`).join("\n");
    const before = draftOf(session).text;
    putDraft(session, `${before === "" ? "" : `${before}\n\n`}Comments on your changes:\n${words}`);
    setComments(new Map());
    document.querySelector<HTMLElement>(".composer-field")?.focus();
  };
  return (
    <PanelFrame
      title="Changes"
      onClose={onClose}
      tools={
        <select aria-label="Which changes" value={source} onChange={(event) => setSource(event.target.value as Source)}>
          <option value="session">of this session</option>
          <option value="folder">in the folder (git)</option>
        </select>
      }
    >
      {written.length > 0 && (
        <div className="comments-bar">
          <span>{several(written.length, "comment")}</span>
          <button type="button" className="primary" onClick={send}>
            Put into the prompt
          </button>
        </div>
      )}
      {changed instanceof Error ? (
        <p className="bad">{changed.message}</p>
      ) : changed === null ? (
        <p className="faint">Looking …</p>
      ) : changed.length === 0 ? (
        <p className="faint">Nothing is changed.</p>
      ) : (
        changed.map((file) => <FileChange key={file.path} file={file} comments={comments} onComments={setComments} />)
      )}
    </PanelFrame>
  );
}

function FileChange({
  file,
  comments,
  onComments,
}: {
  file: Changed;
  comments: ReadonlyMap<string, string>;
  onComments: (comments: ReadonlyMap<string, string>) => void;
}) {
  const [reviewed, setReviewed] = useState(false);
  const [chosen, setChosen] = useState<boolean | null>(null);
  const open = chosen ?? !reviewed;
  // What changes again wants another look.
  useEffect(() => setReviewed(false), [file.lines]);
  const placeOf = (line: DiffLine) =>
    line.new === null ? `${file.path}:${line.old} (before)` : `${file.path}:${line.new}`;
  const set = (line: DiffLine, text: string | null) => {
    const next = new Map(comments);
    if (text === null) next.delete(placeOf(line));
    else next.set(placeOf(line), text);
    onComments(next);
  };
  return (
    <section className="file-change" aria-label={file.path}>
      <header>
        <button type="button" className="quiet" aria-expanded={open} onClick={() => setChosen(!open)}>
          <ChevronRight size={15} className="turns" aria-hidden />
          <code>{file.path}</code> <DiffCount lines={file.lines} />
          {file.note !== null && <span className="tag">{file.note}</span>}
        </button>
        <label className="reviewed">
          <input
            type="checkbox"
            checked={reviewed}
            onChange={(event) => {
              setReviewed(event.target.checked);
              setChosen(null);
            }}
          />{" "}
          reviewed
        </label>
      </header>
      {open && (
        <DiffView
          lines={file.lines}
          path={file.path}
          atFirst={200}
          onLine={(line) => set(line, comments.get(placeOf(line)) ?? "")}
          after={(line) => {
            const text = comments.get(placeOf(line));
            if (text === undefined || line.kind === "hunk") return null;
            return (
              <div className="line-comment">
                <MessageSquarePlus size={14} aria-hidden />
                <textarea
                  autoFocus
                  rows={2}
                  aria-label={`Comment on ${placeOf(line)}`}
                  value={text}
                  onChange={(event) => set(line, event.target.value)}
                  onKeyDown={(event) => {
                    event.stopPropagation();
                    if (event.key === "Escape") set(line, null);
                  }}
                />
              </div>
            );
          }}
        />
      )}
    </section>
  );
}

/** What this session changed, one entry per file: from what it was first to what it is now, where that is known. */
function useSessionChanges(session: SessionId): readonly Changed[] {
  const files = useOpened(session, (opened) => opened.timeline.files);
  const cwd = useSummary(session)?.cwd;
  const transcript = useOpened(session, (opened) => opened.transcript);
  const items = transcript.items;
  return useMemo(
    () => [...files].map(([path, seqs]) => ({ path: below(path, cwd), ...changeOf(seqs, { items }) })),
    [files, cwd, items],
  );
}

function changeOf(
  seqs: readonly Seq[],
  { items }: Pick<Transcript, "items">,
): { lines: DiffLine[]; note: string | null } {
  const found = seqs.flatMap((seq) => {
    const content = find(items, seq)?.content;
    return content?.type === "file" ? [content] : [];
  });
  const [first, last] = [found[0], found.at(-1)];
  const note = seqs.length > 1 ? `${seqs.length} edits` : null;
  const whole = (file: ContentOf<"file"> | undefined) =>
    file !== undefined && !file.truncated && file.new_content !== null;
  if (found.length > 1 && whole(first) && whole(last)) {
    return { lines: compare(first?.old_content ?? "", last?.new_content ?? ""), note };
  }
  return { lines: found.flatMap((file) => readDiff(file.diff)), note };
}

function useFolderChanges(session: SessionId, wanted: boolean): readonly Changed[] | Error | null {
  const [diffs, setDiffs] = useState<FileDiffs | Error | null>(null);
  const state = useOpened(session, (opened) => opened.transcript.state);
  useEffect(() => {
    if (!wanted) return;
    let still = true;
    const told = (value: FileDiffs | Error) => still && setDiffs(value);
    api.diff(session, "git").then(told, told);
    return () => {
      still = false;
    };
  }, [session, wanted, state]);
  return useMemo(() => {
    if (diffs === null || diffs instanceof Error) return diffs;
    return diffs.files.map((file) => ({
      path: file.path,
      lines: readDiff(file.diff ?? ""),
      note: file.diff === null ? `${file.status}, not text` : file.status,
    }));
  }, [diffs]);
}
