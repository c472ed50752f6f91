// To-dos of the model, and work beside the conversation: subagents and commands in the background.
import { CircleCheck, CircleStop, CircleX, LoaderCircle } from "lucide-react";
import type { SessionId, Task } from "../../contract";
import { duration, several, tokens } from "../../text/format";
import { store, useOpened } from "../../use";
import { TodosBody } from "../tools/other";
import { PanelFrame } from "./panel";

/** The panel. */
export default function WorkPanel({ session, onClose }: { session: SessionId; onClose: () => void }) {
  const todos = useOpened(session, (opened) => opened.transcript.todos);
  const tasks = useOpened(session, (opened) => opened.transcript.tasks);
  return (
    <PanelFrame title="Work" onClose={onClose}>
      {todos !== null && todos.items.length > 0 && (
        <section>
          <h3>To do</h3>
          <TodosBody items={todos.items} />
        </section>
      )}
      {tasks.length > 0 && (
        <section>
          <h3>Beside the conversation</h3>
          <ul className="tasks">
            {tasks.toReversed().map((task) => (
              <TaskRow key={task.task_id} session={session} task={task} />
            ))}
          </ul>
        </section>
      )}
    </PanelFrame>
  );
}

function TaskRow({ session, task }: { session: SessionId; task: Task }) {
  const Icon = task.status === "running" ? LoaderCircle : task.status === "completed" ? CircleCheck : CircleX;
  return (
    <li>
      <Icon size={16} className={task.status === "running" ? "spin" : ""} aria-label={task.status} />
      <div>
        <p>{task.description ?? task.task_type ?? task.task_id}</p>
        {task.summary && <p className="faint">{task.summary}</p>}
        {task.usage && (
          <p className="faint">
            {several(task.usage.tool_uses, "call")} · {tokens(task.usage.total_tokens)} tokens ·{" "}
            {duration(task.usage.duration_ms)}
          </p>
        )}
      </div>
      {task.status === "running" && (
        <button
          type="button"
          className="quiet"
          onClick={() => store.ask({ type: "stop_task", task_id: task.task_id }, session)}
        >
          <CircleStop size={14} aria-hidden /> Stop
        </button>
      )}
    </li>
  );
}
