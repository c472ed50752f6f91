// A plan to review: read it, comment on its lines, accept it in one of two modes, or send it back.
//
// Comments go back with a plan that is not accepted. With one that is, they are said right after it.
import { MessageSquarePlus } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import type { Remember, SessionId } from "../../contract";
import { Heard, useSpokenCard } from "../../dictation/heard";
import { MicrophoneButton } from "../../dictation/microphone-button";
import { DictationPanel } from "../../dictation/panel";
import { WithMicrophone } from "../../dictation/with-microphone";
import { freshName } from "../../surroundings";
import { several } from "../../text/format";
import { Markdown } from "../../text/markdown";
import { store } from "../../use";
import { useAnswer } from "./answer";
import type { InCard } from "./card";
import { type PlanPiece, piecesOf, wordsOf } from "./plan-pieces";

/** The plan and the answers. */
export function PlanBody({ session, request, place }: InCard) {
  const { answer, sending } = useAnswer(session, request);
  const [comments, setComments] = useState<ReadonlyMap<number, string>>(new Map());
  const [general, setGeneral] = useState<string | null>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const { spoken, heard } = useSpokenCard(setGeneral);
  const pieces = useMemo(() => piecesOf(request.plan ?? ""), [request.plan]);
  const words = wordsOf(pieces, comments, general ?? "");
  const written = [...comments.values()].filter((text) => text.trim() !== "").length;
  const set = (line: number, text: string | null) => {
    const next = new Map(comments);
    if (text === null) next.delete(line);
    else next.set(line, text);
    setComments(next);
  };
  const accept = async (mode: string) => {
    const remember: Remember[] = [{ type: "set_mode", mode, destination: "session" }];
    if ((await answer({ type: "allow", remember })) && words !== "") await say(session, words);
  };
  const sendBack = () => {
    if (words === "") setGeneral("");
    else void answer({ type: "deny", message: words, interrupt: false });
  };
  return (
    <>
      <div className={`plan-text on-${place}`} tabIndex={0} role="document" aria-label="The plan">
        {pieces.map((piece) => (
          <Piece
            key={piece.line}
            piece={piece}
            comment={comments.get(piece.line)}
            onComment={(text) => set(piece.line, text)}
          />
        ))}
      </div>
      {general !== null && (
        <WithMicrophone field={field} label="Say what should be different" onText={setGeneral}>
          <textarea
            ref={field}
            autoFocus
            rows={2}
            aria-label="What the model is told"
            placeholder="What should be different?"
            value={general}
            onChange={(event) => setGeneral(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Escape") {
                event.stopPropagation();
                setGeneral(null);
              } else if (event.key === "Enter" && !event.shiftKey) {
                event.preventDefault();
                if (words !== "") sendBack();
              }
            }}
          />
        </WithMicrophone>
      )}
      <DictationPanel spoken={spoken} />
      <Heard heard={heard} allow="Press one of the first two, if that is what you mean." />
      <div className="actions">
        <button
          type="button"
          className={words === "" ? "primary" : ""}
          data-key="Enter"
          disabled={sending}
          onClick={() => void accept("acceptEdits")}
        >
          {sending ? "Sending …" : "Accept and act"} <kbd>↵</kbd>
        </button>
        <button type="button" data-key="a" disabled={sending} onClick={() => void accept("default")}>
          Accept, ask before edits <kbd>A</kbd>
        </button>
        <button
          type="button"
          className={words === "" ? "" : "primary"}
          data-key="d"
          disabled={sending || (general !== null && words === "")}
          onClick={sendBack}
        >
          {written > 0
            ? `Send back with ${several(written, "comment")}`
            : general === null
              ? "Send back …"
              : "Send back"}{" "}
          <kbd>D</kbd>
        </button>
        {place === "desk" && general === null && <MicrophoneButton spoken={spoken} label="Say the answer" />}
        {words !== "" && <span className="faint">If you accept, the comments are said right after.</span>}
      </div>
    </>
  );
}

function Piece({
  piece,
  comment,
  onComment,
}: {
  piece: PlanPiece;
  comment: string | undefined;
  onComment: (text: string | null) => void;
}) {
  return (
    <div className="plan-piece">
      <button
        type="button"
        className="quiet icon plan-mark"
        aria-label={`Comment on line ${piece.line}`}
        title={`Comment on line ${piece.line}`}
        onClick={() => onComment(comment ?? "")}
      >
        <MessageSquarePlus size={14} aria-hidden />
      </button>
      <Markdown text={piece.text} growth="finished" />
      {comment !== undefined && (
        <div className="line-comment">
          <textarea
            autoFocus
            rows={2}
            aria-label={`Comment on line ${piece.line}`}
            value={comment}
            onChange={(event) => onComment(event.target.value)}
            onKeyDown={(event) => {
              event.stopPropagation();
              if (event.key === "Escape") onComment(null);
            }}
          />
          <button type="button" className="quiet" onClick={() => onComment(null)}>
            Drop
          </button>
        </div>
      )}
    </div>
  );
}

/** Says the comments to the turn that goes on. */
async function say(session: SessionId, text: string): Promise<void> {
  await store.ask({ type: "prompt", uuid: freshName(), content: [{ type: "text", text }], priority: "next" }, session);
}
