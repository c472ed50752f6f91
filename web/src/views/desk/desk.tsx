// The desk of a session: its open questions, one at a time, the oldest first.
import { ChevronLeft, ChevronRight } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { PendingId, SessionId } from "../../contract";
import { find } from "../../transcript/items";
import { store, useOpened, useSummary } from "../../use";
import { isOurs } from "./answer";
import { Card } from "./card";

/** The open questions of a session; nothing if there are none. */
export function Desk({ session }: { session: SessionId }) {
  const pending = useOpened(session, (opened) => opened.transcript.pending);
  const cwd = useSummary(session)?.cwd;
  const [at, setAt] = useState(0);
  useElsewhere(
    session,
    pending.map((request) => request.pending_id),
  );
  const place = Math.min(at, pending.length - 1);
  const request = pending[place];
  if (request === undefined) return null;
  return (
    <div className="desk" aria-live="polite">
      <Card
        key={request.pending_id}
        session={session}
        request={request}
        cwd={cwd}
        place="desk"
        count={pending.length > 1 ? `${place + 1} of ${pending.length}` : undefined}
      />
      {pending.length > 1 && (
        <div className="desk-walk">
          <button
            type="button"
            className="quiet icon"
            aria-label="The question before"
            disabled={place === 0}
            onClick={() => setAt(place - 1)}
          >
            <ChevronLeft size={16} />
          </button>
          <button
            type="button"
            className="quiet icon"
            aria-label="The next question"
            disabled={place === pending.length - 1}
            onClick={() => setAt(place + 1)}
          >
            <ChevronRight size={16} />
          </button>
        </div>
      )}
    </div>
  );
}

/** Says who answered a question that was on this desk, if it was not this page. */
function useElsewhere(session: SessionId, ids: readonly PendingId[]): void {
  const before = useRef<readonly PendingId[]>([]);
  const now = ids.join(" ");
  useEffect(() => {
    const { transcript } = store.opened(session);
    for (const id of before.current) {
      if (now.split(" ").includes(String(id)) || isOurs(session, id)) continue;
      const content = find(transcript.items, id)?.content;
      if (content?.type !== "question" || content.ending === null) continue;
      const { outcome, by } = content.ending;
      if (outcome === null) store.tell("The question was withdrawn.");
      else if (by !== null) store.tell(`Already ${outcome} by ${by}.`);
    }
    before.current = now === "" ? [] : now.split(" ").map(Number);
  }, [session, now]);
}
