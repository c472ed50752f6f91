// Tools without a shape of their own, and lists of things to do.
import { Circle, CircleCheck, CircleDot } from "lucide-react";
import type { Json, Todo } from "../../contract";
import { Code } from "../../text/code";
import { Markdown } from "../../text/markdown";
import { Terminal } from "../../text/terminal";
import { outputText, Pictures } from "./output";

/** Input and output, as they are. */
export function GenericBody({ input, output }: { input: Json; output: Json | null }) {
  return (
    <>
      {!isEmpty(input) && (
        <pre className="json" tabIndex={0}>
          <Code code={JSON.stringify(input, null, 2)} language="json" />
        </pre>
      )}
      {output !== null && <Terminal output={outputText(output)} />}
      <Pictures output={output} />
    </>
  );
}

/** Some words. */
export function MiscBody({ details }: { details: string }) {
  return details === "" ? null : <Markdown text={details} growth="finished" />;
}

/** Things to do. */
export function TodosBody({ items }: { items: readonly Todo[] }) {
  return (
    <ul className="todos">
      {items.map((todo) => (
        <li key={todo.id} className={todo.status}>
          {todo.status === "completed" ? (
            <CircleCheck size={15} aria-label="done" />
          ) : todo.status === "in_progress" ? (
            <CircleDot size={15} aria-label="being done" />
          ) : (
            <Circle size={15} aria-label="to do" />
          )}
          <span>{todo.description}</span>
        </li>
      ))}
    </ul>
  );
}

/** What is being done, and how much is done. */
export function TodosNote({ items }: { items: readonly Todo[] }) {
  const doing = items.find((todo) => todo.status === "in_progress");
  const done = items.filter((todo) => todo.status === "completed").length;
  return [doing?.description, items.length > 0 ? `${done} of ${items.length} done` : null].filter(Boolean).join(" · ");
}

function isEmpty(value: Json): boolean {
  return value === null || (typeof value === "object" && Object.keys(value as object).length === 0);
}
