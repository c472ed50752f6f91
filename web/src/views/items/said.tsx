// What the model said and thought.
import { Brain, ChevronRight } from "lucide-react";
import { memo, useState } from "react";
import type { ContentOf } from "../../contract";
import { CopyButton } from "../../text/code";
import { Markdown } from "../../text/markdown";

/** A text of the model. */
export const Said = memo(function Said({ text }: { text: ContentOf<"text"> }) {
  if (text.outcome === "replaced" || text.text === "") return null;
  return (
    <div className="said">
      <Markdown text={text.text} growth={text.outcome === null ? "growing" : "finished"} />
      {text.outcome === "aborted" && <p className="faint">It was stopped here.</p>}
      {text.outcome === "complete" && (
        <div className="said-actions">
          <CopyButton text={text.text} label="Copy this text" />
        </div>
      )}
    </div>
  );
});

/** A thought: closed unless somebody wants to follow it. */
export const Thought = memo(function Thought({ thought }: { thought: ContentOf<"thinking"> }) {
  const [open, setOpen] = useState(false);
  const growing = thought.outcome === null;
  if (thought.outcome === "replaced" || thought.text.trim() === "") {
    return growing ? <p className="thinking-mark shimmer">Thinking …</p> : null;
  }
  return (
    <div className="thought">
      <button type="button" className="quiet thought-head" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Brain size={15} aria-hidden />
        <span className={growing ? "shimmer" : ""}>{growing ? "Thinking" : "Thought"}</span>
        {!open && <span className="thought-glimpse">{glimpse(thought.text)}</span>}
        <ChevronRight size={15} className="turns" aria-hidden />
      </button>
      {open && (
        <div className="thought-body">
          <Markdown text={thought.text} growth={growing ? "growing" : "finished"} />
        </div>
      )}
    </div>
  );
});

/** The end of what is thought, while it is thought. */
function glimpse(text: string): string {
  const end = text.slice(-160).replace(/\s+/g, " ").trim();
  return end.length < text.trim().length ? `… ${end}` : end;
}
