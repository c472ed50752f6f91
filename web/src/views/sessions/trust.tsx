// The trust step: what a folder brings by itself, shown before any of it may run.
//
// The one rule it keeps: what is trusted is what was shown; the fingerprint of exactly that goes with the answer.
import { ChevronRight, ShieldAlert, ShieldCheck } from "lucide-react";
import { useEffect, useState } from "react";
import * as api from "../../api";
import type { Brought, FolderTrust } from "../../contract";
import { lastPart, several } from "../../text/format";
import { Shown } from "../../text/shown";

/** What the person wants: nothing of it, all of it now, all of it always. */
export type Wish = "leave out" | "this session" | "always";

/** What is known of a folder, while it is looked at and after. */
export type Looked = FolderTrust | { readonly problem: string } | null;

/** What a folder brings, as soon as it is known. */
export function useFolderTrust(path: string, wanted: boolean): [Looked, () => void] {
  const [looked, setLooked] = useState<{ path: string; found: Looked }>({ path: "", found: null });
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (!wanted || path === "") return;
    let still = true;
    const timer = setTimeout(
      () => {
        api.folderTrust(path).then(
          (found) => still && setLooked({ path, found }),
          (error: Error) => still && setLooked({ path, found: { problem: error.message } }),
        );
      },
      round === 0 ? 200 : 0,
    );
    return () => {
      still = false;
      clearTimeout(timer);
    };
  }, [path, wanted, round]);
  return [looked.path === path ? looked.found : null, () => setRound(round + 1)];
}

/** The step. */
export function TrustStep({
  looked,
  wish,
  onWish,
  onForget,
}: {
  looked: Looked;
  wish: Wish;
  onWish: (wish: Wish) => void;
  onForget: (trust: FolderTrust) => void;
}) {
  if (looked === null) return <p className="faint trust-note">Looking at what the folder brings …</p>;
  if (!("fingerprint" in looked))
    return <p className="faint trust-note">What the folder brings cannot be told: {looked.problem}</p>;
  const runs = looked.brings.filter((each) => each.kind !== "instructions");
  if (runs.length === 0) {
    return (
      <p className="faint trust-note">
        <ShieldCheck size={16} aria-hidden /> This folder brings no hooks, servers or settings of its own.
      </p>
    );
  }
  if (looked.trusted) {
    return (
      <div className="trust on">
        <ShieldCheck size={18} aria-hidden />
        <div>
          <strong>You trust this folder</strong>
          <p className="faint">with exactly what it brings now; it takes part in every session here.</p>
          <BroughtList brings={runs} open={false} />
        </div>
        <button type="button" className="quiet" onClick={() => onForget(looked)}>
          No longer
        </button>
      </div>
    );
  }
  return (
    <fieldset className="trust asks">
      <legend>
        <ShieldAlert size={18} aria-hidden />{" "}
        {looked.changed
          ? "This folder brings something else than what you trusted"
          : `This folder brings ${several(runs.length, "thing")} of its own`}
      </legend>
      <BroughtList brings={runs} open />
      {looked.problem !== null && <p className="bad">{looked.problem}</p>}
      {WISHES.map(([each, label, about]) => (
        <label key={each} className="option">
          <input
            type="radio"
            name="trust"
            checked={wish === each}
            disabled={each !== "leave out" && looked.problem !== null}
            onChange={() => onWish(each)}
          />
          <span>
            <strong>{label}</strong>
            <span className="faint">{about}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

const WISHES: ReadonlyArray<readonly [Wish, string, string]> = [
  ["leave out", "Leave it out", "only your own settings count; nothing of the folder runs by itself"],
  ["this session", "I trust this folder for this session", "what is listed above takes part, as it is now"],
  ["always", "I trust this folder", "in every session, until it brings something else"],
];

/** What a folder brings, thing by thing. */
export function BroughtList({ brings, open }: { brings: readonly Brought[]; open: boolean }) {
  return (
    <details className="brings" open={open}>
      <summary>
        <ChevronRight size={14} className="turns" aria-hidden /> What it brings
      </summary>
      <ul tabIndex={0} aria-label="What it brings">
        {brings.map((each, at) => (
          <li key={`${at}`} className={each.dangerous ? "dangerous" : ""}>
            <p>
              <strong>{KINDS[each.kind]}</strong> <Shown text={each.name} />{" "}
              {each.new && <span className="tag warn">new</span>}
              {each.dangerous && <span className="tag bad">can run by itself</span>}
              <span className="faint" title={each.file}>
                {lastPart(each.file)}
              </span>
            </p>
            {each.detail !== "" && (
              <pre tabIndex={0}>
                <Shown text={each.detail} />
              </pre>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

const KINDS: Record<Brought["kind"], string> = {
  hook: "hook",
  mcp_server: "MCP server",
  environment: "variable",
  permission: "permission",
  plugin: "plugin",
  schedule: "schedule",
  command: "command",
  agent: "subagent",
  skill: "skill",
  setting: "setting",
  instructions: "instructions",
};
