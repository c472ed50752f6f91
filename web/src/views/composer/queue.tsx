// Prompts that wait: they can be changed, moved, taken back or sent at once.
import { ArrowUp, Pencil, X, Zap } from "lucide-react";
import { useState } from "react";
import type { QueuedPrompt, SessionId } from "../../contract";
import { freshName } from "../../surroundings";
import { store, useOpened } from "../../use";

const NONE: readonly QueuedPrompt[] = [];

/** The waiting prompts; nothing if there are none. */
export function QueueList({ session }: { session: SessionId }) {
  const prompts = useOpened(session, (opened) => opened.transcript.queue?.prompts ?? NONE);
  if (prompts.length === 0) return null;
  return (
    <ol className="queue" aria-label="Prompts that wait">
      {prompts.map((prompt, at) => (
        <Waiting key={prompt.uuid ?? at} session={session} prompt={prompt} above={prompts[at - 1]} />
      ))}
    </ol>
  );
}

function Waiting({
  session,
  prompt,
  above,
}: {
  session: SessionId;
  prompt: QueuedPrompt;
  above: QueuedPrompt | undefined;
}) {
  const [edited, setEdited] = useState<string | null>(null);
  const { uuid, text, priority } = prompt;
  const change = (words: string, urgency: QueuedPrompt["priority"]) => {
    if (uuid === null) return;
    const next = { uuid: freshName(), content: [{ type: "text" as const, text: words }], priority: urgency };
    void store.ask({ type: "edit_queued", uuid, with: next }, session);
    setEdited(null);
  };
  if (edited !== null) {
    return (
      <li>
        <textarea
          autoFocus
          rows={2}
          aria-label="The prompt that waits"
          value={edited}
          onChange={(event) => setEdited(event.target.value)}
          onKeyDown={(event) => {
            event.stopPropagation();
            if (event.key === "Escape") setEdited(null);
            if (event.key === "Enter" && !event.shiftKey) {
              event.preventDefault();
              change(edited, priority);
            }
          }}
        />
        <button type="button" onClick={() => change(edited, priority)}>
          Change
        </button>
      </li>
    );
  }
  return (
    <li>
      <span className="queue-text">{text}</span>
      <span className="tag">{WHEN[priority]}</span>
      {uuid !== null && (
        <span className="queue-actions">
          {above?.uuid != null && (
            <button
              type="button"
              className="quiet icon"
              aria-label="Move up"
              title="Move up"
              onClick={() => store.ask({ type: "reorder_queued", order: [uuid] }, session)}
            >
              <ArrowUp size={14} />
            </button>
          )}
          <button
            type="button"
            className="quiet icon"
            aria-label="Stop and send now"
            title="Stop and send now"
            onClick={() => change(text, "now")}
          >
            <Zap size={14} />
          </button>
          <button
            type="button"
            className="quiet icon"
            aria-label="Change"
            title="Change"
            onClick={() => setEdited(text)}
          >
            <Pencil size={14} />
          </button>
          <button
            type="button"
            className="quiet icon"
            aria-label="Take back"
            title="Take back"
            onClick={() => store.ask({ type: "cancel_queued", uuid }, session)}
          >
            <X size={14} />
          </button>
        </span>
      )}
    </li>
  );
}

const WHEN = { now: "at once", next: "joins this turn", later: "after this turn" } as const;
