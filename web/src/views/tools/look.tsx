// Tools that look and change nothing: reading a file, searching, fetching from the web.
import type { ContentOf, NormalizedOf } from "../../contract";
import { Tokens, useTokens } from "../../text/code";
import { several } from "../../text/format";
import { languageOfFile } from "../../text/highlight";
import { followable } from "../../text/links";
import { Terminal } from "../../text/terminal";
import type { InTool } from "./card";
import { outputPictures, outputText } from "./output";

/** The lines that were read. */
export function ReadFileBody({ call, tool }: InTool<"read_file">) {
  const content = call.output?.content ?? "";
  if (content === "") {
    const seen = outputPictures(tool.output).length > 0;
    return tool.tool_status === "complete" && !seen ? <p className="faint">There is no text in it.</p> : null;
  }
  return <NumberedCode text={content} path={call.file_path} from={call.offset ?? 1} />;
}

/** Lines of a file with their numbers. */
export function NumberedCode({ text, path, from = 1 }: { text: string; path: string; from?: number }) {
  const lines = text.replace(/\n$/, "").split("\n");
  const tokens = useTokens(text, languageOfFile(path));
  return (
    <pre className="numbered" tabIndex={0}>
      {lines.map((line, at) => (
        <span key={`${at}`} className="numbered-line" data-line={from + at}>
          <span className="number" aria-hidden>
            {from + at}
          </span>
          <span className="text">
            {tokens?.[at] === undefined ? line : <Tokens line={tokens[at]} />}
            {"\n"}
          </span>
        </span>
      ))}
    </pre>
  );
}

/** What was found. */
export function CodeSearchBody({ call, tool }: InTool<"code_search">) {
  const { output } = call;
  const where = [call.path, call.glob].filter(Boolean).join(" · ");
  return (
    <>
      {where !== "" && <p className="faint">in {where}</p>}
      {output?.content ? (
        <Terminal output={output.content} />
      ) : output !== null && output.files.length > 0 ? (
        <Terminal output={output.files.join("\n")} />
      ) : tool.tool_status === "complete" ? (
        <Terminal output={outputText(tool.output) || "nothing was found"} />
      ) : null}
      {output?.truncated && <p className="faint">There is more than is shown here.</p>}
    </>
  );
}

/** How many files, where that is told. */
export function SearchNote({ call, tool }: { call: NormalizedOf<"code_search">; tool: ContentOf<"tool"> }) {
  const count = call.output?.file_count;
  // Inside a subagent only the words of a result are told, and no count.
  if (count === undefined || (count === 0 && !/^no /i.test(outputText(tool.output) || "no "))) return null;
  return several(count, "file");
}

/** The address and what came back. */
export function HttpBody({ call }: InTool<"http_request">) {
  const address = followable(call.url);
  return (
    <>
      {address !== null && (
        <p>
          <a href={address} target="_blank" rel="noopener noreferrer">
            {call.url}
          </a>
        </p>
      )}
      {call.response !== null && <Terminal output={call.response} tone={call.is_error ? "error" : undefined} />}
    </>
  );
}
