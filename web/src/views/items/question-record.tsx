// What is left of a question in the conversation: how it ended, who decided, and what they made of it (S19).
import { Check, CircleHelp, X } from "lucide-react";
import { memo, useMemo } from "react";
import type { ContentOf, Json, Normalized, PermissionKind } from "../../contract";
import { compare, type DiffLine } from "../../text/diff";
import { DiffView } from "../../text/diff-view";
import { clock, shortTitle } from "../../text/format";
import { Shown } from "../../text/shown";

/** A question's trace. */
export const QuestionRecord = memo(function QuestionRecord({
  question,
  at,
  cwd,
}: {
  question: ContentOf<"question">;
  at: number;
  cwd: string | undefined;
}) {
  const { request, ending } = question;
  const title = TITLES[request.kind] ?? shortTitle(request.tool_title || request.message || "", cwd);
  const input = ending?.input ?? null;
  const changes = useMemo(
    () => (request.kind === "tool" && input !== null ? changesBetween(request.input, input) : null),
    [request, input],
  );
  // As long as it is open, it lies on the desk.
  if (ending === null) return null;
  const { outcome, by, message } = ending;
  const Icon = outcome === "allowed" ? Check : outcome === "denied" ? X : CircleHelp;
  const isAnswer = request.kind !== "tool" && request.kind !== "plan" && outcome === "allowed";
  const line = (
    <p className={`question-record ${outcome ?? "withdrawn"}`} title={`asked at ${clock(at)}`}>
      <Icon size={14} aria-hidden />{" "}
      <span>{isAnswer ? "Answered" : changes !== null ? "Allowed with changes" : ENDINGS[outcome ?? "withdrawn"]}</span>
      {by !== null && <span>by {by}</span>}
      <span className="question-title">
        <Shown text={title} />
      </span>
      {message !== null && message !== "" && <q>{message}</q>}
      {request.kind === "question" && input !== null && <q>{answersIn(input)}</q>}
    </p>
  );
  if (changes === null) return line;
  return (
    <div className="changed-question">
      {line}
      <DiffView lines={changes} path={pathIn(request.normalized)} />
    </div>
  );
});

/** The file that a call changes; by its name the lines have their colours. */
function pathIn(call: Normalized | null): string {
  return call?.kind === "modify_file" ? call.file_path : "its input";
}

/** What somebody made of an input: of the command alone, where only that is another one, else of all of it. */
function changesBetween(before: Json | null, after: Json): DiffLine[] {
  const [old, now] = [fieldsOf(before), fieldsOf(after)];
  const changed = Object.keys({ ...old, ...now }).filter((name) => !isSame(old[name], now[name]));
  const text = (fields: Record<string, unknown>) =>
    changed
      .filter((name) => name in fields)
      .map((name) => {
        const value = typeof fields[name] === "string" ? fields[name] : JSON.stringify(fields[name], null, 2);
        return changed.length === 1 ? value : `${name}: ${value}`;
      })
      .join("\n");
  const lines = compare(`${text(old)}\n`, `${text(now)}\n`);
  return lines.filter(({ kind }) => kind !== "hunk" && kind !== "note");
}

function fieldsOf(value: Json | null): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function answersIn(input: Json): string {
  const { answers } = fieldsOf(input);
  return Object.values(fieldsOf((answers ?? null) as Json | null)).join(" · ");
}

const TITLES: Partial<Record<PermissionKind, string>> = { question: "the questions", plan: "the plan" };

const ENDINGS = {
  allowed: "Allowed",
  denied: "Denied",
  expired: "No answer in time",
  lost: "Lost with its run",
  withdrawn: "Withdrawn",
} as const;
