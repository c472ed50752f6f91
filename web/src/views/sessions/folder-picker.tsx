// Choosing a folder of the machine that the host runs on.
import { ChevronUp, Folder } from "lucide-react";
import { type Dispatch, type SetStateAction, useEffect, useRef, useState } from "react";
import * as api from "../../api";
import type { FolderList } from "../../contract";
import { lastPart } from "../../text/format";

/** A field for the path, recent folders, and the folders below. */
export function FolderPicker({ path, onPath }: { path: string; onPath: Dispatch<SetStateAction<string>> }) {
  const [list, setList] = useState<FolderList | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    let wanted = true;
    const timer = setTimeout(() => {
      api.folders(path === "" ? null : path).then(
        (found) => {
          if (!wanted) return;
          setList(found);
          setProblem(null);
          // Nothing is put under the hand of somebody who is about to write.
          if (document.activeElement !== field.current) onPath((now) => (now === "" ? found.path : now));
        },
        (error: Error) => wanted && setProblem(error.message),
      );
    }, 150);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [path, onPath]);
  const join = (name: string) => (list === null ? name : `${list.path.replace(/\/$/, "")}/${name}`);
  return (
    <div className="folder-picker">
      <label className="field">
        <span>Folder</span>
        <input
          ref={field}
          value={path}
          spellCheck={false}
          autoCapitalize="off"
          onChange={(event) => onPath(event.target.value)}
          onBlur={() => path === "" && list !== null && onPath(list.path)}
        />
      </label>
      {problem !== null && <p className="bad">{problem}</p>}
      {list !== null && list.recent.length > 0 && (
        <div className="recent">
          {list.recent.slice(0, 6).map((recent) => (
            <button
              key={recent}
              type="button"
              className={recent === path ? "chip on" : "chip"}
              title={recent}
              onClick={() => onPath(recent)}
            >
              {lastPart(recent)}
            </button>
          ))}
        </div>
      )}
      {list !== null && (
        <ul className="folders" aria-label={`Folders in ${list.path}`}>
          {list.parent !== null && (
            <li>
              <button type="button" onClick={() => onPath(list.parent ?? "/")}>
                <ChevronUp size={15} aria-hidden /> the folder above
              </button>
            </li>
          )}
          {list.folders.map((name) => (
            <li key={name}>
              <button type="button" onClick={() => onPath(join(name))}>
                <Folder size={15} aria-hidden /> {name}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
