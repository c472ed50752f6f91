// A subagent: what it was told, its own stream of items, and what it reported.
import { useState } from "react";
import type { ContentOf, Seq, SessionId } from "../../contract";
import { duration, several, tokens } from "../../text/format";
import { Markdown } from "../../text/markdown";
import { find } from "../../transcript/items";
import { useOpened } from "../../use";
import { Row } from "../items/row";
import type { InTool } from "./card";

const AT_FIRST = 12;
const NONE: readonly Seq[] = [];

/** Its stream. */
export function SubagentBody({ session, tool, call }: InTool<"subagent_task">) {
  const [whole, setWhole] = useState(false);
  const inside = useOpened(session, (opened) => opened.timeline.inside.get(tool.tool_call_id) ?? NONE);
  // Where its stream begins with what it was told, that need not be told twice.
  const told = useOpened(session, (opened) => find(opened.transcript.items, inside[0] ?? 0)?.content.type);
  const hidden = whole ? 0 : Math.max(0, inside.length - AT_FIRST);
  return (
    <div className="subagent">
      {told !== "user_message" && (
        <details className="subagent-prompt">
          <summary>What it was told</summary>
          <Markdown text={call.prompt} growth="finished" />
        </details>
      )}
      {hidden > 0 && (
        <button type="button" className="quiet more" onClick={() => setWhole(true)}>
          Show {several(hidden, "earlier step")}
        </button>
      )}
      {inside.slice(hidden).map((seq) => (
        <Row key={seq} session={session} seq={seq} />
      ))}
      {call.output && (
        <div className="subagent-report">
          <h4>Report</h4>
          <Markdown text={call.output} growth="finished" />
        </div>
      )}
    </div>
  );
}

/** What it has used so far. */
export function SubagentNote({ session, tool }: { session: SessionId; tool: ContentOf<"tool"> }) {
  const task = useOpened(session, (opened) =>
    opened.transcript.tasks.find((each) => each.tool_call_id === tool.tool_call_id),
  );
  const steps = useOpened(session, (opened) => opened.timeline.inside.get(tool.tool_call_id)?.length ?? 0);
  if (task?.usage == null) return steps > 0 ? several(steps, "step") : null;
  const { tool_uses, total_tokens, duration_ms } = task.usage;
  return [several(tool_uses, "call"), `${tokens(total_tokens)} tokens`, duration(duration_ms)].join(" · ");
}
