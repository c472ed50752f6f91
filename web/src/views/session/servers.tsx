// The MCP servers of a session: how each is, and what can be done about it.
import { useCallback, useEffect, useState } from "react";
import type { Json, McpServer, SessionId } from "../../contract";
import { store, useOpened } from "../../use";
import { PanelFrame } from "./panel";

const NONE: readonly McpServer[] = [];

/** What the CLI tells of a server when it is asked. */
interface Told {
  readonly name: string;
  readonly status: string;
  readonly error?: string;
}

/** The panel. */
export default function ServersPanel({ session, onClose }: { session: SessionId; onClose: () => void }) {
  const known = useOpened(session, (opened) => opened.transcript.status?.mcp_servers ?? NONE);
  const [asked, setAsked] = useState<readonly Told[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const ask = useCallback(async () => {
    const outcome = await store.command({ type: "mcp", action: "status" }, session);
    if ("rejection" in outcome) setProblem(outcome.rejection.reason);
    else if (outcome.reply.type === "told") setAsked(serversIn(outcome.reply.answer));
  }, [session]);
  useEffect(() => void ask(), [ask]);
  const act = async (action: "reconnect" | "enable" | "disable", server: string) => {
    if ((await store.ask({ type: "mcp", action, server }, session)) !== null) await ask();
  };
  const servers: readonly Told[] = asked ?? known;
  return (
    <PanelFrame title="MCP servers" onClose={onClose}>
      {servers.length === 0 && <p className="faint">{problem ?? "This session has none."}</p>}
      <ul className="servers">
        {servers.map((server) => (
          <li key={server.name}>
            <span className={`server-state ${server.status}`} aria-hidden />
            <div>
              <strong>{server.name}</strong>
              <p className="faint">{server.status}</p>
              {server.error !== undefined && <p className="bad">{server.error}</p>}
            </div>
            {server.status === "disabled" ? (
              <button type="button" className="quiet" onClick={() => void act("enable", server.name)}>
                Switch on
              </button>
            ) : (
              <>
                {server.status !== "connected" && (
                  <button type="button" className="quiet" onClick={() => void act("reconnect", server.name)}>
                    Connect again
                  </button>
                )}
                <button type="button" className="quiet" onClick={() => void act("disable", server.name)}>
                  Switch off
                </button>
              </>
            )}
          </li>
        ))}
      </ul>
    </PanelFrame>
  );
}

function serversIn(answer: Json): Told[] {
  const list = (answer as { mcpServers?: Told[] } | null)?.mcpServers;
  return Array.isArray(list) ? list.filter((each) => typeof each?.name === "string") : [];
}
