// One open question, whatever its kind: the same frame, filled by what is asked.
import { memo } from "react";
import type { PermissionRequest, SessionId } from "../../contract";
import { Shown } from "../../text/shown";
import { ElicitationBody } from "./elicitation";
import { AnswerFrame } from "./frame";
import { PlanBody } from "./plan";
import { QuestionsBody } from "./questions";
import { ToolBody } from "./tool";

/** Where a card lies. */
export type Place = "desk" | "list";

/** What the bodies get. */
export interface InCard {
  readonly session: SessionId;
  readonly request: PermissionRequest;
  readonly cwd: string | undefined;
  readonly place: Place;
}

/** An open question. */
export const Card = memo(function Card(props: InCard & { count?: string }) {
  const { request, place } = props;
  return (
    <AnswerFrame
      label={TITLES[request.kind]}
      className={`asks-${request.kind} on-${place}`}
      focus={place === "desk" ? "takes" : "leaves"}
    >
      <header>
        <h3>{TITLES[request.kind]}</h3>
        {props.count !== undefined && <span className="tag">{props.count}</span>}
      </header>
      {request.reason !== null && request.reason !== "" && (
        <p className="faint">
          <Shown text={request.reason} />
        </p>
      )}
      <Body {...props} />
    </AnswerFrame>
  );
});

function Body(props: InCard) {
  switch (props.request.kind) {
    case "tool":
      return <ToolBody {...props} />;
    case "question":
      return <QuestionsBody {...props} />;
    case "plan":
      return <PlanBody {...props} />;
    case "elicitation":
    case "dialog":
      return <ElicitationBody {...props} />;
  }
}

const TITLES = {
  tool: "May this run?",
  question: "A question for you",
  plan: "Is this plan good?",
  elicitation: "A form to fill in",
  dialog: "The agent wants to know",
} as const;
