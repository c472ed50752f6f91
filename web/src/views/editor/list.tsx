// What an interactive `claude` in some terminal wants of this page, which is its editor: changes to decide, files to
// look at. It stands above the sessions.
import { FileCode2, SquareTerminal } from "lucide-react";
import { useEffect, useRef } from "react";
import { go, pathOf, type Route } from "../../route";
import { Count } from "../../text/diff-view";
import { ago, lastPart, several } from "../../text/format";
import { useNow } from "../../ui/time";
import { store, useKnown } from "../../use";

/** The changes and files; nothing where the host is no editor or nobody is connected. */
export function EditorList({ route }: { route: Route }) {
  const editor = useKnown((known) => known.editor);
  useShownFiles(route);
  if (editor === null || (editor.connected === 0 && editor.diffs.length === 0 && editor.files.length === 0))
    return null;
  return (
    <section className="editor-list" aria-label="In the terminal">
      <h2>
        <SquareTerminal size={14} aria-hidden /> In the terminal{" "}
        <span className="faint">{several(editor.connected, "claude", "claudes")}</span>
      </h2>
      <ul>
        {editor.diffs.map((diff) => (
          <Entry
            key={`diff ${diff.diff_id}`}
            route={route}
            to={{ at: "editor", kind: "diff", id: diff.diff_id }}
            path={diff.path}
            at={diff.proposed_at}
            note={
              <>
                <span className="tag warn">{diff.new_file ? "new file" : "change"}</span>{" "}
                <Count added={diff.added} removed={diff.removed} />
              </>
            }
          />
        ))}
        {editor.files.map((file) => (
          <Entry
            key={`file ${file.file_id}`}
            route={route}
            to={{ at: "editor", kind: "file", id: file.file_id }}
            path={file.path}
            at={file.shown_at}
            note={<FileCode2 size={13} aria-hidden />}
          />
        ))}
      </ul>
    </section>
  );
}

function Entry({
  route,
  to,
  path,
  at,
  note,
}: {
  route: Route;
  to: Extract<Route, { at: "editor" }>;
  path: string;
  at: number;
  note: React.ReactNode;
}) {
  const now = useNow(30_000);
  const chosen = route.at === "editor" && route.kind === to.kind && route.id === to.id;
  return (
    <li className={chosen ? "chosen" : ""}>
      <a
        href={pathOf(to)}
        aria-current={chosen ? "page" : undefined}
        title={path}
        onClick={(event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          go(to);
        }}
      >
        <span>{lastPart(path)}</span> {note} <span className="when faint">{ago(at, now)}</span>
      </a>
    </li>
  );
}

/** A file that was just shown opens at once where nothing else is looked at, and is told of otherwise. */
function useShownFiles(route: Route): void {
  const told = useKnown((known) => known.editor !== null);
  const newest = useKnown((known) => known.editor?.files[0]);
  const known = useRef<number | null>(null);
  useEffect(() => {
    if (!told) return;
    const before = known.current;
    known.current = newest?.file_id ?? 0;
    // What was there when the page came is no news.
    if (newest === undefined || before === null || newest.file_id <= before) return;
    if (route.at === "home") go({ at: "editor", kind: "file", id: newest.file_id });
    else store.tell(`claude opened ${lastPart(newest.path)}: it is in the list, under “In the terminal”.`);
  }, [told, newest, route.at]);
}
