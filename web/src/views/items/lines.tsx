// Lines between what is said: notices, errors with a next step, the end of a turn or a run.
import { CircleAlert, GitFork, Info, Minimize2, RotateCcw, TriangleAlert } from "lucide-react";
import type {
  Compaction,
  Notice,
  RunEnded,
  Seq,
  SessionId,
  Error as TurnError,
  TurnFigures,
  TurnNumber,
} from "../../contract";
import { dollars, duration, tokens } from "../../text/format";
import { find } from "../../transcript/items";
import { store, useOpened } from "../../use";
import { fork } from "../session/fork";

/** Something to read. */
export function NoticeLine({ notice }: { notice: Notice }) {
  const Icon = notice.level === "info" ? Info : notice.level === "warning" ? TriangleAlert : CircleAlert;
  return (
    <div className={`line ${notice.level}`} role={notice.level === "error" ? "alert" : undefined}>
      <Icon size={16} aria-hidden />
      <p>{notice.text}</p>
    </div>
  );
}

/** A turn failed: why, and what to do. */
export function ErrorLine({
  session,
  error,
  turn,
  seq,
}: {
  session: SessionId;
  error: TurnError;
  turn: TurnNumber | null;
  seq: Seq;
}) {
  // Only the last word of a session can be tried again.
  const canRetry = useOpened(session, ({ transcript, timeline }) => {
    const last = timeline.rows.at(-1) ?? 0;
    return transcript.state !== "running" && (last === seq || (transcript.turn === turn && last <= seq + 2));
  });
  // The CLI often says it as a message first; once is enough.
  const isSaid = useOpened(session, ({ transcript, timeline }) => {
    const at = timeline.rows.lastIndexOf(seq);
    return timeline.rows.slice(Math.max(0, at - 3), at).some((row) => {
      const content = find(transcript.items, row)?.content;
      return content?.type === "text" && content.text.trim() === error.error.trim();
    });
  });
  return (
    <div className="line error" role="alert">
      <CircleAlert size={16} aria-hidden />
      <div>
        {!isSaid && <p>{error.error}</p>}
        <p className={isSaid ? "" : "faint"}>{nextStep(error.code)}</p>
        {canRetry && (
          <button
            type="button"
            onClick={() => store.ask(turn === null ? { type: "retry" } : { type: "retry", turn }, session)}
          >
            <RotateCcw size={14} aria-hidden /> Try this turn again
          </button>
        )}
      </div>
    </div>
  );
}

/** The conversation was summarised. */
export function CompactionLine({ compaction }: { compaction: Compaction }) {
  const { status, pre_tokens, post_tokens } = compaction;
  return (
    <div className={status === "failed" ? "line warning" : "line info"}>
      <Minimize2 size={16} aria-hidden />
      <p className={status === "running" ? "shimmer" : ""}>
        {status === "running"
          ? "Making the conversation shorter …"
          : status === "failed"
            ? `The conversation could not be made shorter: ${compaction.message ?? "no reason was given"}`
            : "The conversation so far was summarised"}
        {status === "complete" &&
          pre_tokens !== null &&
          ` (${tokens(pre_tokens)} → ${post_tokens === null ? "?" : tokens(post_tokens)} tokens)`}
      </p>
    </div>
  );
}

/** A turn is over. */
export function CompleteLine({ session, figures }: { session: SessionId; figures: TurnFigures }) {
  const { last_message_uuid: last } = figures;
  const read = figures.input_tokens + figures.cache_read_tokens + figures.cache_creation_tokens;
  const details = [
    `${figures.input_tokens} tokens read`,
    `${figures.cache_read_tokens} from the cache`,
    `${figures.cache_creation_tokens} put into it`,
    `${figures.output_tokens} written`,
    `the API took ${duration(figures.duration_api_ms)}`,
  ].join(", ");
  const stopped = figures.terminal_reason?.startsWith("aborted") ?? false;
  return (
    <p className="turn-end" title={details}>
      {stopped && <span>stopped</span>}
      <span>{duration(figures.duration_ms)}</span>
      <span>{dollars(figures.cost_usd)}</span>
      <span>
        {tokens(read)} in, {tokens(figures.output_tokens)} out
      </span>
      {last !== null && (
        <button
          type="button"
          className="quiet icon"
          aria-label="Begin another session after this turn"
          title="Begin another session after this turn"
          onClick={() => void fork(session, last)}
        >
          <GitFork size={13} aria-hidden />
        </button>
      )}
    </p>
  );
}

/** A run is over. */
export function RunEndedLine({ session, end, seq }: { session: SessionId; end: RunEnded; seq: Seq }) {
  const state = useOpened(session, (opened) => opened.transcript.state);
  // An error right before says what happened, and has the next step.
  const isTold = useOpened(session, ({ transcript, timeline }) => {
    const before = timeline.rows[timeline.rows.lastIndexOf(seq) - 1];
    return before !== undefined && find(transcript.items, before)?.content.type === "error";
  });
  if (end.reason === "closed" || end.reason === "output_ended") {
    return <p className="turn-mark">The run ended; the next prompt goes on with the conversation</p>;
  }
  return (
    <div className={isTold ? "line info" : "line error"} role={isTold ? undefined : "alert"}>
      {isTold ? <Info size={16} aria-hidden /> : <CircleAlert size={16} aria-hidden />}
      <div>
        <p>
          {RUN_ENDS[end.reason] ?? `The run ended: ${end.reason}`}
          {end.exit_code !== null && <span className="faint"> (exit code {end.exit_code})</span>}
        </p>
        {end.stderr_tail !== "" && (
          <details>
            <summary>What it wrote last</summary>
            <pre tabIndex={0}>{end.stderr_tail}</pre>
          </details>
        )}
        {state === "ended" && <p className="faint">Your next prompt starts a new run of the same conversation.</p>}
      </div>
    </div>
  );
}

const RUN_ENDS: Record<string, string> = {
  failed: "The agent ended with an error.",
  crashed: "The agent crashed.",
  killed: "The agent was ended by a signal.",
  wedged: "The agent did not react any more and was ended.",
  not_started: "The agent could not be started.",
  host_ended: "The host ended while this run was going on. What the agent did after that may be missing here.",
};

function nextStep(code: string): string {
  if (/overloaded|529/.test(code)) return "The API has too much to do. Wait a little, then try again.";
  if (/rate_limit|429/.test(code)) return "Your limit is reached. Wait until it is reset, then try again.";
  if (code === "api_unreachable") return "The API cannot be reached. Check the network and the proxy, then try again.";
  if (code === "server_error") return "The API had a fault of its own, which is usually over soon. Try again.";
  if (/auth|401|403|login/.test(code)) return "Log in with `claude` in a terminal, then try again.";
  if (/billing|credit|402/.test(code)) return "Check the account's balance, then try again.";
  if (/max_turns/.test(code)) return "The limit of steps was reached. Say “go on” to continue.";
  if (/budget/.test(code)) return "The session's budget is spent. Raise it in the session's menu to go on.";
  if (/context|too_long|413/.test(code)) return "The conversation is too long. `/compact` makes it shorter.";
  if (/model|404/.test(code)) return "Choose another model below, then try again.";
  return "Try again, or say what to do differently.";
}
