// Beginning a session: where, with whom, in which mode; and whether the folder is trusted.
import { useEffect, useState } from "react";
import * as api from "../../api";
import type { Agent, CreateSession, FolderTrust } from "../../contract";
import { keep, kept } from "../../kept";
import { goToSession } from "../../route";
import { Dialog } from "../../ui/dialog";
import { store, useKnown } from "../../use";
import { BYPASS, defaultModel, MODES, modelsOf, THINKING, thinkingOf, thinkingValue } from "../composer/modes";
import { FolderPicker } from "./folder-picker";
import { TrustStep, useFolderTrust, type Wish } from "./trust";

/** The dialog. */
export function NewSession({ onClose }: { onClose: () => void }) {
  const settings = useKnown((known) => known.settings);
  const agents = settings?.agents ?? [];
  const usable = (agent: Agent) => agents.find((each) => each.agent === agent)?.problem == null;
  const [agent, setAgent] = useState<Agent | null>(null);
  const [cwd, setCwd] = useState(() => kept("new.folder", ""));
  const [model, setModel] = useState(() => kept("new.model", ""));
  const [mode, setMode] = useState(() => kept("new.mode", "default"));
  const [thinking, setThinking] = useState<number | null>(null);
  const [wish, setWish] = useState<Wish>("leave out");
  const [problem, setProblem] = useState<string | null>(null);
  const [doing, setDoing] = useState(false);
  useEffect(() => {
    store.loadSettings().catch((error: Error) => setProblem(error.message));
  }, []);
  const who: Agent = agent ?? (usable("claude") ? "claude" : "demo");
  const [looked, lookAgain] = useFolderTrust(cwd, who === "claude");
  // What was wished for one folder, or for what it brought, is no wish for another.
  const fingerprint = looked !== null && "fingerprint" in looked ? looked.fingerprint : null;
  useEffect(() => setWish("leave out"), [cwd, fingerprint]);
  const forget = async (trust: FolderTrust) => {
    try {
      await api.setFolderTrust({ path: trust.path, fingerprint: trust.fingerprint, trusted: false });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
    lookAgain();
  };
  const offers = modelsOf(settings, who);
  const usual = defaultModel(settings, who);
  const trouble = agents.find((each) => each.agent === who)?.problem ?? null;
  const begin = async () => {
    setDoing(true);
    setProblem(null);
    const wanted: CreateSession & { type: "create_session" } = {
      type: "create_session",
      cwd,
      agent: who,
      trusted: false,
      origin: "new",
      permission_mode: mode,
    };
    if (who === "claude" && fingerprint !== null && wish === "this session")
      Object.assign(wanted, { trusted: true, fingerprint });
    if (who === "claude" && fingerprint !== null && wish === "always") {
      try {
        await api.setFolderTrust({ path: cwd, fingerprint, trusted: true });
      } catch (error) {
        setProblem(error instanceof Error ? error.message : String(error));
        setDoing(false);
        lookAgain();
        return;
      }
    }
    // What was chosen for one agent may be no model of the other.
    if (offers.some((offer) => offer.value === model)) wanted.model = model;
    if (thinking !== null) wanted.max_thinking_tokens = thinking;
    const outcome = await store.command(wanted);
    setDoing(false);
    if ("rejection" in outcome) {
      setProblem(outcome.rejection.reason);
      lookAgain();
    } else if (outcome.reply.type === "created") {
      keep("new.folder", cwd);
      keep("new.model", model);
      keep("new.mode", mode);
      goToSession(outcome.reply.session_id);
      onClose();
    }
  };
  return (
    <Dialog title="New session" onClose={onClose}>
      <form
        className="new-session"
        onSubmit={(event) => {
          event.preventDefault();
          void begin();
        }}
      >
        <fieldset className="agents">
          <legend className="unseen">Who does the work</legend>
          {(["claude", "demo"] as const).map((each) => (
            <label key={each} className={who === each ? "agent on" : "agent"}>
              <input
                type="radio"
                name="agent"
                checked={who === each}
                onChange={() => setAgent(each)}
                // Choosing what is on already is a choice too: it stays when more is known of the agents.
                onClick={() => setAgent(each)}
              />
              <span>
                <strong>{each === "claude" ? "Claude Code" : "Demo agent"}</strong>
                <span className="faint">
                  {each === "claude"
                    ? (agents.find((found) => found.agent === "claude")?.version ?? "the installed CLI")
                    : "scripted, no account, changes nothing"}
                </span>
              </span>
            </label>
          ))}
        </fieldset>
        {trouble !== null && <p className="bad">{trouble}</p>}
        <FolderPicker path={cwd} onPath={setCwd} />
        {who === "claude" && cwd !== "" && (
          <TrustStep looked={looked} wish={wish} onWish={setWish} onForget={(trust) => void forget(trust)} />
        )}
        <div className="row-of-fields">
          <label className="field">
            <span>Mode</span>
            <select value={mode} onChange={(event) => setMode(event.target.value)}>
              {(settings?.bypass_allowed ? [...MODES, BYPASS] : MODES).map((each) => (
                <option key={each.name} value={each.name}>
                  {each.label}: {each.about}
                </option>
              ))}
            </select>
          </label>
          <label className="field">
            <span>Model</span>
            <select
              value={offers.some((offer) => offer.value === model) ? model : ""}
              onChange={(event) => setModel(event.target.value)}
            >
              <option value="" title={usual?.description}>
                {usual?.name ?? "the default"}
              </option>
              {offers.map((offer) => (
                <option key={offer.value} value={offer.value} title={offer.description}>
                  {offer.name}
                </option>
              ))}
            </select>
          </label>
          <label className="field">
            <span>Thinking</span>
            <select value={thinkingValue(thinking)} onChange={(event) => setThinking(thinkingOf(event.target.value))}>
              {THINKING.map(([most, label]) => (
                <option key={label} value={thinkingValue(most)}>
                  {label}
                </option>
              ))}
            </select>
          </label>
        </div>
        {problem !== null && (
          <p className="bad" role="alert">
            {problem}
          </p>
        )}
        <footer className="actions">
          <button type="submit" className="primary" disabled={doing || cwd === "" || trouble !== null}>
            {doing ? "Beginning …" : "Begin"}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
