// Going back to an earlier prompt: files, conversation or both, with a look at what would change first.
import { useEffect, useState } from "react";
import type { Json, RewindScope, SessionId, Uuid } from "../../contract";
import { below, several } from "../../text/format";
import { Dialog } from "../../ui/dialog";
import { store, useOpened } from "../../use";
import { goBackIn } from "./fork";

const SCOPES: ReadonlyArray<readonly [RewindScope, string, string]> = [
  ["both", "Conversation and files", "as if it had never been said; what was said stays in this session"],
  ["conversation", "Only the conversation", "it goes on in a copy up to here; files stay as they are now"],
  ["files", "Only the files", "the conversation stays and goes on"],
];

/** What the CLI tells of a rewind that is not done yet. */
interface Preview {
  readonly filesChanged?: readonly string[];
  readonly insertions?: number;
  readonly deletions?: number;
  readonly canRewind?: boolean;
  readonly error?: string;
}

/** Asks what to take back to a prompt. */
export function RewindDialog({
  session,
  uuid,
  words,
  onClose,
}: {
  session: SessionId;
  uuid: Uuid;
  words: string;
  onClose: () => void;
}) {
  const [scope, setScope] = useState<RewindScope>("both");
  const [preview, setPreview] = useState<Preview | string | null>(null);
  const [doing, setDoing] = useState(false);
  const cwd = useOpened(session, (opened) => opened.transcript.status?.cwd);
  useEffect(() => {
    let wanted = true;
    store.command({ type: "rewind", uuid, scope: "files", preview: true }, session).then((outcome) => {
      if (!wanted) return;
      if ("rejection" in outcome) setPreview(outcome.rejection.reason);
      else setPreview(outcome.reply.type === "told" ? previewOf(outcome.reply.answer) : {});
    });
    return () => {
      wanted = false;
    };
  }, [session, uuid]);
  const rewind = async () => {
    setDoing(true);
    const reply = await store.ask({ type: "rewind", uuid, scope, preview: false }, session);
    setDoing(false);
    if (reply === null) return;
    onClose();
    if (reply.type === "created") goBackIn(reply.session_id, words);
  };
  return (
    <Dialog title="Rewind to this prompt" onClose={onClose}>
      <blockquote className="quoted">{words}</blockquote>
      <fieldset className="choices">
        <legend className="unseen">What is taken back</legend>
        {SCOPES.map(([each, label, about]) => (
          <label key={each} className="option">
            <input type="radio" name="scope" checked={scope === each} onChange={() => setScope(each)} />
            <span>
              <strong>{label}</strong>
              <span className="faint">{about}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <div className="preview" aria-live="polite">
        {scope === "conversation" ? (
          <p className="faint">No file is changed.</p>
        ) : preview === null ? (
          <p className="faint">Looking at what would change …</p>
        ) : typeof preview === "string" ? (
          <p className="bad">{preview}</p>
        ) : preview.canRewind === false ? (
          <p className="bad">{preview.error ?? "The files of that moment are not known."}</p>
        ) : (preview.filesChanged ?? []).length === 0 ? (
          <p className="faint">No file would change.</p>
        ) : (
          <>
            <p>
              {several(preview.filesChanged?.length ?? 0, "file")} would change
              {preview.insertions !== undefined && ` (+${preview.insertions} −${preview.deletions ?? 0})`}:
            </p>
            <ul>
              {(preview.filesChanged ?? []).map((path) => (
                <li key={path}>
                  <code>{below(path, cwd)}</code>
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
      <footer className="actions">
        <button type="button" className="primary" disabled={doing} onClick={() => void rewind()}>
          {doing ? "Rewinding …" : "Rewind"}
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </footer>
    </Dialog>
  );
}

function previewOf(answer: Json): Preview {
  return typeof answer === "object" && answer !== null ? (answer as Preview) : {};
}
