// What is left of a question in the conversation: how it ended, and who decided.
import { Check, CircleHelp, X } from "lucide-react";
import { memo } from "react";
import type { ContentOf, PermissionKind } from "../../contract";
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
  // As long as it is open, it lies on the desk.
  if (ending === null) return null;
  const { outcome, by, message } = ending;
  const Icon = outcome === "allowed" ? Check : outcome === "denied" ? X : CircleHelp;
  return (
    <p className={`question-record ${outcome ?? "withdrawn"}`} title={`asked at ${clock(at)}`}>
      <Icon size={14} aria-hidden />{" "}
      <span>{request.kind === "question" && outcome === "allowed" ? "Answered" : ENDINGS[outcome ?? "withdrawn"]}</span>
      {by !== null && <span>by {by}</span>}
      <span className="question-title">
        <Shown text={title} />
      </span>
      {message !== null && message !== "" && <q>{message}</q>}
    </p>
  );
});

const TITLES: Partial<Record<PermissionKind, string>> = { question: "the questions", plan: "the plan" };

const ENDINGS = {
  allowed: "Allowed",
  denied: "Denied",
  expired: "No answer in time",
  lost: "Lost with its run",
  withdrawn: "Withdrawn",
} as const;
