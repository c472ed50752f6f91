// A shell command: the whole of it, what it wrote, and its exit code.
import { CircleStop, Layers } from "lucide-react";
import type { ContentOf, NormalizedOf } from "../../contract";
import { Shown } from "../../text/shown";
import { Terminal } from "../../text/terminal";
import { store } from "../../use";
import type { InTool } from "./card";
import { outputText } from "./output";

/** So much of a title is seen on a phone. */
const SHORT = 30;

/** The command and its output. */
export function ShellBody({ session, tool, call }: InTool<"shell_exec">) {
  const { output } = call;
  const words = output === null && tool.tool_status !== "running" ? outputText(tool.output) || tool.message : null;
  return (
    <>
      {!isSaidByTitle(tool, call) && (
        <pre className="command" tabIndex={0}>
          <span className="prompt-sign" aria-hidden>
            ${" "}
          </span>
          <Shown text={call.command} />
        </pre>
      )}
      {output !== null && output.stdout !== "" && <Terminal output={output.stdout} />}
      {output !== null && output.stderr !== "" && <Terminal output={output.stderr} tone="error" />}
      {words && <Terminal output={words} tone={tool.tool_status === "error" ? "error" : undefined} />}
      {tool.tool_status === "running" && !call.background && (
        <div className="actions">
          <button
            type="button"
            className="quiet"
            onClick={() => store.ask({ type: "background", tool_call_id: tool.tool_call_id }, session)}
          >
            <Layers size={14} aria-hidden /> Let it go on in the background
          </button>
          <button type="button" className="quiet" onClick={() => store.ask({ type: "interrupt" }, session)}>
            <CircleStop size={14} aria-hidden /> Stop
          </button>
        </div>
      )}
    </>
  );
}

/** What a command is for, where that was said; else the command. */
export function shellTitle(tool: ContentOf<"tool">, call: NormalizedOf<"shell_exec">): string {
  return call.description || tool.tool_title;
}

/** Whether the title says all of it, on a phone too. */
function isSaidByTitle(tool: ContentOf<"tool">, call: NormalizedOf<"shell_exec">): boolean {
  return call.command.length <= SHORT && shellTitle(tool, call) === `$ ${call.command}`;
}

/** The exit code, where it says something. */
export function ShellNote({ call, tool }: { call: NormalizedOf<"shell_exec">; tool: ContentOf<"tool"> }) {
  const code = call.output?.exit_code;
  return (
    <>
      {call.background && <span className="tag">background</span>}
      {code != null && code !== 0 && <span className="tag bad">exit {code}</span>}
      {tool.tool_status === "running" && tool.message}
    </>
  );
}
