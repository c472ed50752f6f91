// The frame of something that wants an answer: every answer has a key, and none is given by accident.
import { type ReactNode, type SyntheticEvent, useEffect, useRef, useState } from "react";

/** Keys and clicks do nothing so shortly after a card came: they were meant for something else. */
const ANSWERABLE_AFTER_MS = 500;

/** Whether a frame takes the focus when it comes: so that one key answers, unless somebody is writing elsewhere. */
export type Focus = "takes" | "leaves";

/** A frame; buttons in it are pressed by the key in their `data-key`. */
export function AnswerFrame({
  label,
  className,
  focus,
  children,
}: {
  label: string;
  className: string;
  focus: Focus;
  children: ReactNode;
}) {
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
    if (focus === "takes" && !writing && !elsewhere) element.current?.focus({ preventScroll: true });
  }, [focus]);
  return (
    <section
      ref={element}
      className={`card ${className}`}
      aria-label={label}
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
      {children}
    </section>
  );
}
