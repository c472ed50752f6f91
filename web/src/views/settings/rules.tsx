// Rules of the host: they answer questions before a person is asked. The first that matches counts.
import { ArrowDown, ArrowUp, Plus, Trash2 } from "lucide-react";
import { useEffect, useState } from "react";
import * as api from "../../api";
import type { Behavior, HostRule, RulesTried } from "../../contract";
import { several } from "../../text/format";
import { Shown } from "../../text/shown";

const FIELDS = [
  ["tool", "tool", "Bash, mcp__github__*"],
  ["command", "command", "npm run *"],
  ["path", "file", "src/**"],
  ["folder", "only below folder", "/home/me/projects"],
  ["note", "why", "tests are harmless"],
] as const;

/** The rules, editable, with a try on what was really asked. */
export function Rules() {
  const [rules, setRules] = useState<readonly HostRule[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [saved, setSaved] = useState(false);
  const [tried, setTried] = useState<RulesTried | null>(null);
  useEffect(() => {
    api.rules().then(
      (found) => setRules(found.rules),
      (error: Error) => setProblem(error.message),
    );
  }, []);
  if (rules === null) return problem === null ? <p className="faint">Loading …</p> : <p className="bad">{problem}</p>;
  const change = (next: readonly HostRule[]) => {
    setRules(next);
    setSaved(false);
    setTried(null);
  };
  const set = (at: number, part: Partial<HostRule>) =>
    change(rules.map((rule, place) => (place === at ? clean({ ...rule, ...part }) : rule)));
  const move = (at: number, step: number) => {
    const next = [...rules];
    const [rule] = next.splice(at, 1);
    if (rule !== undefined) next.splice(at + step, 0, rule);
    change(next);
  };
  const guard = async (action: () => Promise<void>) => {
    setProblem(null);
    await action().catch((error: Error) => setProblem(error.message));
  };
  return (
    <section>
      <h2>Rules</h2>
      <p className="faint">
        They answer before you are asked. The first that matches counts; if none does, you are asked. A rule that allows
        never covers a command that joins several.
      </p>
      <ol className="rules">
        {rules.map((rule, at) => (
          <li key={`${at}`}>
            <label className="field">
              <span>what happens</span>
              <select
                className={rule.behavior}
                value={rule.behavior}
                onChange={(event) => set(at, { behavior: event.target.value as Behavior })}
              >
                <option value="allow">allow</option>
                <option value="ask">ask me</option>
                <option value="deny">deny</option>
              </select>
            </label>
            {FIELDS.map(([name, label, example]) => (
              <label key={name} className="field">
                <span>{label}</span>
                <input
                  value={rule[name] ?? ""}
                  placeholder={example}
                  spellCheck={false}
                  onChange={(event) => set(at, { [name]: event.target.value })}
                />
              </label>
            ))}
            <span className="rule-actions">
              <button
                type="button"
                className="quiet icon"
                aria-label="Move up"
                disabled={at === 0}
                onClick={() => move(at, -1)}
              >
                <ArrowUp size={15} />
              </button>
              <button
                type="button"
                className="quiet icon"
                aria-label="Move down"
                disabled={at === rules.length - 1}
                onClick={() => move(at, 1)}
              >
                <ArrowDown size={15} />
              </button>
              <button
                type="button"
                className="quiet icon"
                aria-label="Remove"
                onClick={() => change(rules.filter((_, place) => place !== at))}
              >
                <Trash2 size={15} />
              </button>
            </span>
          </li>
        ))}
      </ol>
      <div className="actions">
        <button type="button" onClick={() => change([...rules, { behavior: "ask" }])}>
          <Plus size={15} aria-hidden /> A rule
        </button>
        <button
          type="button"
          onClick={() => void guard(async () => setTried(await api.tryRules({ rules: [...rules] })))}
        >
          Try them on what was asked before
        </button>
        <button
          type="button"
          className="primary"
          disabled={saved}
          onClick={() =>
            void guard(async () => {
              await api.setRules({ rules: [...rules] });
              setSaved(true);
            })
          }
        >
          {saved ? "Saved" : "Save"}
        </button>
      </div>
      {problem !== null && (
        <p className="bad" role="alert">
          {problem}
        </p>
      )}
      {tried !== null && <Tried tried={tried} />}
    </section>
  );
}

function Tried({ tried: { tried } }: { tried: RulesTried }) {
  return (
    <div className="tried" aria-live="polite">
      <p>
        Of {several(tried.length, "question")}: {tried.filter((each) => each.behavior === "allow").length} would be
        allowed, {tried.filter((each) => each.behavior === "deny").length} denied.
      </p>
      <ul>
        {tried.slice(0, 100).map((each, at) => (
          <li key={`${at}`}>
            <span className={`tag ${each.behavior}`}>{each.behavior}</span> <Shown text={each.request.tool_title} />
            {each.rule !== null && <span className="faint"> by rule {each.rule + 1}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** What is empty does not take part. */
function clean(rule: HostRule): HostRule {
  return Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== "")) as unknown as HostRule;
}
