// How a session stands, in one dot and one word.
import type { SessionSummary } from "../../contract";
import { duration } from "../../text/format";
import { useNow } from "../../ui/time";

/** A word for how a session stands. */
export type Standing = "waits" | "running" | "failed" | "idle" | "ended";

/** How it stands. */
export function standing(summary: SessionSummary): Standing {
  if (summary.pending.length > 0) return "waits";
  if (summary.state === "running") return "running";
  if (summary.last_error !== null) return "failed";
  return summary.state;
}

const WORDS: Record<Standing, string> = {
  waits: "waits for you",
  running: "running",
  failed: "failed",
  idle: "ready",
  ended: "at rest",
};

/** The dot, and the word if wanted. */
export function StateDot({ summary, words = "unseen" }: { summary: SessionSummary; words?: "shown" | "unseen" }) {
  const state = standing(summary);
  return (
    <span className={`state ${state}`}>
      <span className="dot" aria-hidden />
      <span className={words === "unseen" ? "unseen" : ""}>{WORDS[state]}</span>
      {words === "shown" && state === "running" && summary.running_since !== null && (
        <Since at={summary.running_since} />
      )}
    </span>
  );
}

function Since({ at }: { at: number }) {
  const now = useNow(1000);
  return <span className="since">{duration(Math.max(0, Math.floor((now - at) / 1000) * 1000))}</span>;
}
