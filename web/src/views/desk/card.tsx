// One open question, whatever its kind: the same frame, filled by what is asked.
import { memo, type SyntheticEvent, useEffect, useRef, useState } from "react";
import type { PermissionRequest, SessionId } from "../../contract";
import { Shown } from "../../text/shown";
import { ElicitationBody } from "./elicitation";
import { PlanBody } from "./plan";
import { QuestionsBody } from "./questions";
import { ToolBody } from "./tool";

/** Keys and clicks do nothing so shortly after a card came: they were meant for something else. */
const ANSWERABLE_AFTER_MS = 500;

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
  const element = useRef<HTMLElement>(null);
  const [answerable, setAnswerable] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setAnswerable(true), ANSWERABLE_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  const guard = (event: SyntheticEvent) => {
    if (answerable) return;
    event.preventDefault();
    event.stopPropagation();
  };
  useEffect(() => {
    // Whoever is writing goes on writing; everybody else can answer with one key.
    const active = document.activeElement;
    const writing = active instanceof HTMLTextAreaElement && active.value !== "";
    const elsewhere = active?.closest("dialog, [role=menu], .panel, .card") != null;
    if (place === "desk" && !writing && !elsewhere) element.current?.focus({ preventScroll: true });
  }, [place]);
  return (
    <section
      ref={element}
      className={`card asks-${request.kind} on-${place}`}
      aria-label={TITLES[request.kind]}
      tabIndex={-1}
      data-answerable={answerable}
      onKeyDownCapture={guard}
      onClickCapture={guard}
      onKeyDown={(event) => {
        const { target } = event;
        const typing = target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement;
        const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
        if (typing || !plain) return;
        const button = element.current?.querySelector<HTMLElement>(`[data-key="${event.key}"]:not(:disabled)`);
        const onButton = event.key === "Enter" && target instanceof HTMLButtonElement;
        if (button == null || onButton) return;
        event.preventDefault();
        event.stopPropagation();
        button.click();
      }}
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
    </section>
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
