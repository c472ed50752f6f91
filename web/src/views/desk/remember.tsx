// What to remember with an answer, and where.
import { useId, useState } from "react";
import type { Destination, Remember, Rule, Scope } from "../../contract";
import { Shown } from "../../text/shown";
import { useKnown } from "../../use";
import { modeLabel } from "../composer/modes";

/** Where a rule can be kept, in words, and which file that is. */
export const DESTINATIONS: ReadonlyArray<readonly [Destination, string, string]> = [
  ["session", "this session", "Only for this session (not saved)"],
  ["local_settings", "this project (just you)", "Saves to .claude/settings.local.json (gitignored)"],
  ["project_settings", "this project (shared)", "Saves to .claude/settings.json (shared with the team)"],
  ["user_settings", "all projects", "Saves to ~/.claude/settings.json"],
];

/** A choice of what is remembered; nothing unless somebody says so. */
export function RememberChoice({
  suggestions,
  onChange,
}: {
  suggestions: readonly Remember[];
  onChange: (remember: readonly Remember[]) => void;
}) {
  const scope = useKnown(({ link }) => (link.state === "online" ? link.host.scope : null));
  const places = DESTINATIONS.filter(([destination]) => isPermitted(destination, suggestions, scope));
  const [on, setOn] = useState(false);
  const [where, setWhere] = useState<Destination>(() => {
    const offered = suggestions[0]?.destination;
    return places.find(([destination]) => destination === offered)?.[0] ?? "session";
  });
  const name = useId();
  const choose = (wanted: boolean, destination: Destination) => {
    setOn(wanted);
    setWhere(destination);
    onChange(wanted ? suggestions.map((suggestion) => ({ ...suggestion, destination })) : []);
  };
  return (
    <div className="remember">
      <input
        id={name}
        type="checkbox"
        data-key="a"
        checked={on}
        onChange={(event) => choose(event.target.checked, where)}
      />
      <label htmlFor={name}>
        Remember:{" "}
        {suggestions.map((suggestion, at) => (
          <Suggestion key={`${at}`} suggestion={suggestion} />
        ))}{" "}
        <kbd>A</kbd>
      </label>
      <label className="where">
        <span className="unseen">Where it is kept</span>
        <select
          value={where}
          title={DESTINATIONS.find(([destination]) => destination === where)?.[2]}
          onChange={(event) => choose(true, event.target.value as Destination)}
        >
          {places.map(([destination, words, about]) => (
            <option key={destination} value={destination} title={about}>
              for {words}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

/** Who may not do everything keeps what the CLI offers where it offers it, or in the session: the host's own rule. */
export function isPermitted(destination: Destination, suggestions: readonly Remember[], scope: Scope | null): boolean {
  return (
    scope === "admin" ||
    destination === "session" ||
    suggestions.every((offered) => offered.destination === destination)
  );
}

function Suggestion({ suggestion }: { suggestion: Remember }) {
  switch (suggestion.type) {
    case "add_rules":
    case "replace_rules":
    case "remove_rules":
      return (
        <span>
          {suggestion.type === "remove_rules" ? "no longer " : ""}
          {suggestion.behavior}{" "}
          {suggestion.rules.map((rule, at) => (
            <code key={`${at}`}>
              <Shown text={ruleText(rule)} />
            </code>
          ))}
        </span>
      );
    case "set_mode":
      return <span>go on in mode “{modeLabel(suggestion.mode)}”</span>;
    case "add_directories":
    case "remove_directories":
      return (
        <span>
          {suggestion.type === "add_directories" ? "also work in " : "no longer work in "}
          <code>
            <Shown text={suggestion.directories.join(", ")} />
          </code>
        </span>
      );
  }
}

function ruleText({ tool_name, rule_content }: Rule): string {
  return rule_content === null ? tool_name : `${tool_name}(${rule_content})`;
}
