// Settings: what this browser does, rules and trust, MCP servers, what was used, what was decided, other devices.
import { ChevronLeft } from "lucide-react";
import { useEffect, useState } from "react";
import { type Appearance, appearance, setAppearance } from "../../appearance";
import { chime } from "../../attention";
import { isInstallable } from "../../install";
import { useKept } from "../../kept";
import { go, type SettingsPart } from "../../route";
import { store, useKnown } from "../../use";
import { Audit } from "./audit";
import { Devices, SCOPES } from "./devices";
import { Rules } from "./rules";
import { AllServers } from "./servers";
import { TrustedFolders } from "./trusted";
import { Usage } from "./usage";

const PARTS: ReadonlyArray<readonly [SettingsPart, string]> = [
  ["general", "General"],
  ["rules", "Rules"],
  ["trust", "Trust"],
  ["servers", "MCP servers"],
  ["usage", "Usage"],
  ["audit", "Audit"],
  ["devices", "Devices"],
];

/** The settings. */
export default function SettingsView({ part }: { part: SettingsPart }) {
  return (
    <div className="settings">
      <header className="session-head">
        <button
          type="button"
          className="quiet icon back"
          aria-label="To the sessions"
          onClick={() => go({ at: "home" })}
        >
          <ChevronLeft size={20} />
        </button>
        <div className="session-name">
          <h1>Settings</h1>
        </div>
      </header>
      <nav className="tabs" aria-label="Settings">
        {PARTS.map(([each, label]) => (
          <button
            key={each}
            type="button"
            aria-current={each === part ? "page" : undefined}
            onClick={() => go({ at: "settings", part: each })}
          >
            {label}
          </button>
        ))}
      </nav>
      <div className="settings-body" tabIndex={0} role="region" aria-label={part}>
        {part === "general" && <General />}
        {part === "rules" && <Rules />}
        {part === "trust" && <TrustedFolders />}
        {part === "servers" && <AllServers />}
        {part === "usage" && <Usage />}
        {part === "audit" && <Audit />}
        {part === "devices" && <Devices />}
      </div>
    </div>
  );
}

function General() {
  const settings = useKnown((known) => known.settings);
  const link = useKnown((known) => known.link);
  const [notify, setNotify] = useKept<boolean>("attention.notify", false);
  const [sound, setSound] = useKept<boolean>("attention.sound", false);
  const [look, setLook] = useState<Appearance>(appearance);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    store.loadSettings().catch((error: Error) => setProblem(error.message));
  }, []);
  const askToNotify = async (wanted: boolean) => {
    if (!wanted) return setNotify(false);
    if (typeof Notification === "undefined")
      return setProblem("This browser has no notifications here. They need TLS or loopback.");
    const answer = await Notification.requestPermission();
    if (answer === "granted") setNotify(true);
    else setProblem("The browser does not allow notifications for this page.");
  };
  return (
    <>
      <section>
        <h2>This browser</h2>
        <label className="field">
          <span>Appearance</span>
          <select
            value={look}
            onChange={(event) => {
              const chosen = event.target.value as Appearance;
              setLook(chosen);
              setAppearance(chosen);
            }}
          >
            <option value="system">as the system</option>
            <option value="light">light</option>
            <option value="dark">dark</option>
          </select>
        </label>
        <label className="option">
          <input type="checkbox" checked={notify} onChange={(event) => void askToNotify(event.target.checked)} />
          <span>
            <strong>Notifications</strong>
            <span className="faint">when a question waits or a turn ends, unless you are looking at it</span>
          </span>
        </label>
        <label className="option">
          <input
            type="checkbox"
            checked={sound}
            onChange={(event) => {
              setSound(event.target.checked);
              if (event.target.checked) chime();
            }}
          />
          <span>
            <strong>A sound</strong>
            <span className="faint">at the same moments</span>
          </span>
        </label>
        {problem !== null && <p className="bad">{problem}</p>}
        <p className="faint">
          {isInstallable()
            ? "This page can be installed as an app, from the browser’s menu."
            : "Over plain HTTP a page can be installed only on the machine itself (loopback)."}
        </p>
      </section>
      <section>
        <h2>The host</h2>
        <dl className="facts">
          <dt>Version</dt>
          <dd>{settings?.version ?? "…"}</dd>
          {link.state === "online" && (
            <>
              <dt>You may</dt>
              <dd>{SCOPES.find(([scope]) => scope === link.host.scope)?.[1]}</dd>
            </>
          )}
          {settings?.agents.map((agent) => (
            <div key={agent.agent} className="fact">
              <dt>{agent.agent === "claude" ? "Claude Code" : "Demo agent"}</dt>
              <dd>
                {agent.problem === null ? (agent.version ?? "there") : <span className="bad">{agent.problem}</span>}
              </dd>
            </div>
          ))}
          <dt>Bypass mode</dt>
          <dd>
            {settings?.bypass_allowed ? (
              <span className="bad">may be chosen</span>
            ) : (
              "cannot be chosen (only the host’s own configuration allows it)"
            )}
          </dd>
        </dl>
        {settings?.rate_limits.map((limit) => (
          <p key={limit.rate_limit_message} className="line info">
            {limit.rate_limit_message}
            {limit.resets_at !== null && `, until ${new Date(limit.resets_at * 1000).toLocaleString()}`}
          </p>
        ))}
      </section>
    </>
  );
}
