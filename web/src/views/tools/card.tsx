// A tool call as a card: one line that says what is done and how it stands, and inside it what its kind shows.
//
// It goes by kinds, never by names of tools. The one rule it keeps: a card is as open as what is in it matters.
import {
  Bot,
  ChevronRight,
  CircleX,
  FilePen,
  FileText,
  Globe,
  ListTodo,
  LoaderCircle,
  Search,
  SquareTerminal,
  Wrench,
} from "lucide-react";
import { memo, type ReactNode, useState } from "react";
import type { ContentOf, Normalized, SessionId } from "../../contract";
import { bytes, several, shortTitle, withoutMarks } from "../../text/format";
import { Shown } from "../../text/shown";
import { useOpened } from "../../use";
import { CodeSearchBody, HttpBody, ReadFileBody, SearchNote } from "./look";
import { ModifyFileBody, ModifyNote } from "./modify-file";
import { GenericBody, MiscBody, TodosBody, TodosNote } from "./other";
import { outputText, Pictures } from "./output";
import { ShellBody, ShellNote, shellTitle } from "./shell";
import { SubagentBody, SubagentNote } from "./subagent";

type Tool = ContentOf<"tool">;

/** What a body and a note get. */
export interface InTool<K extends Normalized["kind"]> {
  readonly session: SessionId;
  readonly tool: Tool;
  readonly call: Extract<Normalized, { kind: K }>;
}

const ICONS = {
  modify_file: FilePen,
  read_file: FileText,
  code_search: Search,
  shell_exec: SquareTerminal,
  http_request: Globe,
  subagent_task: Bot,
  create_task: ListTodo,
  manage_todos: ListTodo,
  misc: Wrench,
  generic: Wrench,
} as const;

/** A tool call. */
export const ToolCard = memo(function ToolCard({ session, tool }: { session: SessionId; tool: Tool }) {
  const [chosen, setChosen] = useState<boolean | null>(null);
  const { normalized: call, tool_status: status } = tool;
  // What is asked for on the desk is shown whole there.
  const asked = useOpened(session, ({ transcript }) =>
    transcript.pending.some((request) => request.tool_call_id === tool.tool_call_id),
  );
  const open = chosen ?? (isOpenAtFirst(tool) && !asked);
  const Icon = call === null ? Wrench : ICONS[call.kind];
  const cwd = useOpened(session, (opened) => opened.transcript.status?.cwd);
  return (
    <article className={`tool ${status} ${call?.kind ?? "preparing"}`}>
      <button type="button" className="tool-head" aria-expanded={open} onClick={() => setChosen(!open)}>
        {status === "running" ? (
          <LoaderCircle size={16} className="spin" aria-label="running" />
        ) : status === "error" ? (
          <CircleX size={16} className="bad" aria-label="failed" />
        ) : (
          <Icon size={16} aria-hidden />
        )}
        <span className="tool-title">
          <Shown text={titleOf(tool, cwd)} />
        </span>
        <span className="tool-note">
          {call === null ? `${bytes(tool.bytes)} …` : <Note session={session} tool={tool} call={call} />}
        </span>
        <ChevronRight size={16} className="turns" aria-hidden />
      </button>
      {open && call !== null && (
        <div className="tool-body">
          <Body session={session} tool={tool} call={call} />
          {call.kind !== "generic" && <Pictures output={tool.output} />}
          {status === "error" && !saysItsError(call) && <ToolError tool={tool} />}
          {status === "running" && tool.message !== null && <p className="faint">{tool.message}</p>}
        </div>
      )}
    </article>
  );
});

function titleOf(tool: Tool, cwd: string | undefined): string {
  switch (tool.normalized?.kind) {
    case "misc":
      return withoutMarks(tool.tool_title);
    case "shell_exec":
      return shellTitle(tool, tool.normalized);
    default:
      return shortTitle(tool.tool_title, cwd);
  }
}

function Body({ session, tool, call }: { session: SessionId; tool: Tool; call: Normalized }): ReactNode {
  switch (call.kind) {
    case "modify_file":
      return <ModifyFileBody session={session} tool={tool} call={call} />;
    case "read_file":
      return <ReadFileBody session={session} tool={tool} call={call} />;
    case "code_search":
      return <CodeSearchBody session={session} tool={tool} call={call} />;
    case "shell_exec":
      return <ShellBody session={session} tool={tool} call={call} />;
    case "http_request":
      return <HttpBody session={session} tool={tool} call={call} />;
    case "subagent_task":
      return <SubagentBody session={session} tool={tool} call={call} />;
    case "create_task":
      return <MiscBody details={call.description} />;
    case "manage_todos":
      return <TodosBody items={call.items} />;
    case "misc":
      return <MiscBody details={call.details ?? outputText(tool.output)} />;
    case "generic":
      return <GenericBody input={call.input} output={call.output ?? tool.output} />;
  }
}

function Note({ session, tool, call }: { session: SessionId; tool: Tool; call: Normalized }): ReactNode {
  switch (call.kind) {
    case "modify_file":
      return <ModifyNote session={session} tool={tool} call={call} />;
    case "read_file":
      return call.output?.line_count ? several(call.output.line_count, "line") : null;
    case "code_search":
      return <SearchNote call={call} tool={tool} />;
    case "shell_exec":
      return <ShellNote call={call} tool={tool} />;
    case "subagent_task":
      return <SubagentNote session={session} tool={tool} />;
    case "manage_todos":
      return <TodosNote items={call.items} />;
    default:
      return null;
  }
}

function ToolError({ tool }: { tool: Tool }) {
  const words = outputText(tool.output) || tool.message || "it failed without a word";
  return (
    <pre className="tool-error" tabIndex={0}>
      {words}
    </pre>
  );
}

function saysItsError(call: Normalized): boolean {
  return call.kind === "generic" || (call.kind === "shell_exec" && call.output !== null);
}

function isOpenAtFirst({ normalized, tool_status }: Tool): boolean {
  if (tool_status === "error") return true;
  switch (normalized?.kind) {
    case "modify_file":
    case "shell_exec":
      return true;
    case "subagent_task":
      return tool_status === "running";
    default:
      return false;
  }
}
