// A file of the session's folder, to look at.
import { useEffect, useState } from "react";
import * as api from "../../api";
import type { FileContent, SessionId } from "../../contract";
import { bytes, lastPart } from "../../text/format";
import { useSummary } from "../../use";
import { NumberedCode } from "../tools/look";
import { PanelFrame } from "./panel";

/** The panel. */
export default function FilePanel({
  session,
  path,
  line,
  onClose,
}: {
  session: SessionId;
  path: string;
  line: number | null;
  onClose: () => void;
}) {
  const [content, setContent] = useState<FileContent | Error | null>(null);
  const cwd = useSummary(session)?.cwd ?? "";
  useEffect(() => {
    let wanted = true;
    const relative = path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path;
    const told = (value: FileContent | Error) => wanted && setContent(value);
    api.file(session, relative).then(told, told);
    return () => {
      wanted = false;
    };
  }, [session, path, cwd]);
  useEffect(() => {
    if (line === null || content === null) return;
    const element = document.querySelector(`.panel [data-line="${line}"]`);
    element?.scrollIntoView({ block: "center" });
    element?.classList.add("found");
  }, [content, line]);
  return (
    <PanelFrame title={lastPart(path)} onClose={onClose}>
      <p className="path">{path}</p>
      {content === null ? (
        <p className="faint">Loading …</p>
      ) : content instanceof Error ? (
        <p className="bad">{content.message}</p>
      ) : content.text === null ? (
        <p className="faint">It is no text ({bytes(content.size)}).</p>
      ) : (
        <>
          <NumberedCode text={content.text} path={path} />
          {content.truncated && <p className="faint">It is longer ({bytes(content.size)}); the beginning is here.</p>}
        </>
      )}
    </PanelFrame>
  );
}
