// The page as an editor: one change that an interactive CLI proposes, or one file that it shows.
import { ChevronLeft } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import * as api from "../../api";
import type { EditorDiffContent, EditorFileContent, EditorVerdict } from "../../contract";
import { go, type Route } from "../../route";
import { compare } from "../../text/diff";
import { DiffCount, DiffView } from "../../text/diff-view";
import { lastPart } from "../../text/format";
import { Shown } from "../../text/shown";
import { store, useKnown } from "../../use";
import { AnswerFrame } from "../desk/frame";
import { NumberedCode } from "../tools/look";

/** What the address names. */
export default function EditorView({ route }: { route: Extract<Route, { at: "editor" }> }) {
  const key = `${route.kind} ${route.id}`;
  return route.kind === "diff" ? <DiffPage key={key} id={route.id} /> : <FilePage key={key} id={route.id} />;
}

function Head({ title, about }: { title: string; about: string }) {
  return (
    <header className="session-head">
      <button type="button" className="quiet icon back" aria-label="To the sessions" onClick={() => go({ at: "home" })}>
        <ChevronLeft size={20} />
      </button>
      <div className="session-name">
        <h1>
          <Shown text={title} />
        </h1>
        <p className="faint">{about}</p>
      </div>
    </header>
  );
}

function DiffPage({ id }: { id: number }) {
  const [content, setContent] = useState<EditorDiffContent | Error | null>(null);
  const editor = useKnown((known) => known.editor);
  const open = editor === null || editor.diffs.some((diff) => diff.diff_id === id);
  useEffect(() => {
    let wanted = true;
    const told = (found: EditorDiffContent | Error) => wanted && setContent(found);
    api.editorDiff(id).then(told, told);
    return () => {
      wanted = false;
    };
  }, [id]);
  // What was decided, here or elsewhere, makes room for the next.
  const next = editor?.diffs.find((diff) => diff.diff_id !== id)?.diff_id;
  useEffect(() => {
    if (open) return;
    go(next === undefined ? { at: "home" } : { at: "editor", kind: "diff", id: next });
  }, [open, next]);
  if (content === null) return <p className="editor-note faint">Loading …</p>;
  if (content instanceof Error) return <p className="editor-note bad">{content.message}</p>;
  return (
    <div className="editor">
      <Head title={lastPart(content.path)} about="a change that claude proposes in the terminal" />
      <DiffCard content={content} />
    </div>
  );
}

function DiffCard({ content }: { content: EditorDiffContent }) {
  const { diff_id: id, path, old } = content;
  const [text, setText] = useState(content.new);
  const [editing, setEditing] = useState(false);
  const [sending, setSending] = useState(false);
  const lines = useMemo(() => compare(old ?? "", text), [old, text]);
  const edited = text !== content.new;
  const decide = async (verdict: EditorVerdict) => {
    setSending(true);
    try {
      await api.decideDiff(id, verdict);
    } catch (error) {
      store.tell(error instanceof Error ? error.message : String(error));
    } finally {
      setSending(false);
    }
  };
  return (
    <AnswerFrame label="A change to decide" className="on-editor" focus="takes">
      <p className="path">
        <Shown text={path} /> <DiffCount lines={lines} /> {old === null && <span className="tag">new file</span>}
        {edited && <span className="tag warn">edited by you</span>}
      </p>
      {editing ? (
        <textarea
          autoFocus
          className="editor-text"
          aria-label="What the file shall contain"
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            event.stopPropagation();
            if (event.key === "Escape") setEditing(false);
          }}
        />
      ) : (
        <DiffView lines={lines} path={path} />
      )}
      <div className="actions">
        <button
          type="button"
          className="primary"
          data-key="Enter"
          disabled={sending}
          onClick={() => void decide(edited ? { accepted: true, content: text } : { accepted: true })}
        >
          {sending ? "Sending …" : edited ? "Accept as edited" : "Accept"} <kbd>↵</kbd>
        </button>
        <button type="button" data-key="d" disabled={sending} onClick={() => void decide({ accepted: false })}>
          Reject <kbd>D</kbd>
        </button>
        <button type="button" className="quiet" data-key="e" disabled={sending} onClick={() => setEditing(!editing)}>
          {editing ? "Show the change" : "Edit"} <kbd>E</kbd>
        </button>
        {edited && (
          <button type="button" className="quiet" disabled={sending} onClick={() => setText(content.new)}>
            As it was proposed
          </button>
        )}
      </div>
    </AnswerFrame>
  );
}

function FilePage({ id }: { id: number }) {
  const [content, setContent] = useState<EditorFileContent | Error | null>(null);
  useEffect(() => {
    let wanted = true;
    const told = (found: EditorFileContent | Error) => wanted && setContent(found);
    api.editorFile(id).then(told, told);
    return () => {
      wanted = false;
    };
  }, [id]);
  useEffect(() => {
    if (content === null || content instanceof Error || content.selection === null) return;
    const { start, end } = content.selection;
    // The place behind the last: a selection that ends before the first letter of a line does not reach into it.
    const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
    for (let line = start.line; line <= last; line += 1) {
      const element = document.querySelector(`.editor [data-line="${line + 1}"]`);
      element?.classList.add("found");
      if (line === start.line) element?.scrollIntoView({ block: "center" });
    }
  }, [content]);
  if (content === null) return <p className="editor-note faint">Loading …</p>;
  if (content instanceof Error) return <p className="editor-note bad">{content.message}</p>;
  return (
    <div className="editor">
      <Head title={lastPart(content.path)} about="a file that claude opened in the terminal" />
      <p className="path">
        <Shown text={content.path} />
      </p>
      <NumberedCode text={content.text} path={content.path} />
    </div>
  );
}
