// A plan to review: read it, accept it in one of two modes, or send it back with comments.
import { useState } from "react";
import type { Remember } from "../../contract";
import { Markdown } from "../../text/markdown";
import { useAnswer } from "./answer";
import type { InCard } from "./card";
import { DenyForm } from "./tool";

/** The plan and the answers. */
export function PlanBody({ session, request, place }: InCard) {
  const { answer, sending } = useAnswer(session, request);
  const [commenting, setCommenting] = useState(false);
  const accept = (mode: string) => {
    const remember: Remember[] = [{ type: "set_mode", mode, destination: "session" }];
    void answer({ type: "allow", remember });
  };
  return (
    <>
      <div className={`plan-text on-${place}`} tabIndex={0} role="document" aria-label="The plan">
        <Markdown text={request.plan ?? ""} growth="finished" />
      </div>
      {commenting ? (
        <DenyForm
          label="Send back"
          placeholder="What should be different?"
          onDeny={(message, interrupt) => void answer({ type: "deny", message, interrupt })}
          onBack={() => setCommenting(false)}
        />
      ) : (
        <div className="actions">
          <button
            type="button"
            className="primary"
            data-key="Enter"
            disabled={sending}
            onClick={() => accept("acceptEdits")}
          >
            {sending ? "Sending …" : "Accept and act"} <kbd>↵</kbd>
          </button>
          <button type="button" data-key="a" disabled={sending} onClick={() => accept("default")}>
            Accept, ask before edits <kbd>A</kbd>
          </button>
          <button type="button" data-key="d" disabled={sending} onClick={() => setCommenting(true)}>
            Comment <kbd>D</kbd>
          </button>
        </div>
      )}
    </>
  );
}
