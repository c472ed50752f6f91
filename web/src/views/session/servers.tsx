// The MCP servers of a session: how each is, and what can be done about it.
import { useCallback, useEffect, useState } from "react";
import type { Json, SessionId } from "../../contract";
import { several } from "../../text/format";
import { store, useOpened } from "../../use";
import { PanelFrame } from "./panel";

/** What the CLI tells of a server when it is asked. */
interface Told {
  readonly name: string;
  readonly status: string;
  readonly error?: string;
  readonly scope?: string;
  readonly serverInfo?: { readonly name?: string; readonly version?: string };
  readonly tools?: readonly { readonly name: string; readonly description?: string }[];
}

/** How often servers that are not there yet are asked for again. */
const AGAIN_MS = 2_000;

/** The panel. */
export default function ServersPanel({ session, onClose }: { session: SessionId; onClose: () => void }) {
  return (
    <PanelFrame title="MCP servers" onClose={onClose}>
      <ServerList session={session} />
    </PanelFrame>
  );
}

/** The servers of a session. */
export function ServerList({ session }: { session: SessionId }) {
  const known = useOpened(session, (opened) => opened.transcript.status?.mcp_servers);
  const [asked, setAsked] = useState<readonly Told[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const ask = useCallback(async () => {
    const outcome = await store.command({ type: "mcp", action: "status" }, session);
    if ("rejection" in outcome) setProblem(outcome.rejection.reason);
    else if (outcome.reply.type === "told") {
      setProblem(null);
      setAsked(serversIn(outcome.reply.answer));
    }
  }, [session]);
  useEffect(() => void ask(), [ask, known]);
  const pending = asked?.some((server) => server.status === "pending") ?? false;
  useEffect(() => {
    if (!pending) return;
    const timer = setTimeout(() => void ask(), AGAIN_MS);
    return () => clearTimeout(timer);
  }, [pending, asked, ask]);
  const act = async (action: "reconnect" | "enable" | "disable", server: string) => {
    if ((await store.ask({ type: "mcp", action, server }, session)) !== null) await ask();
  };
  const servers: readonly Told[] | null = asked ?? known ?? null;
  if (servers === null) return <p className="faint">{problem ?? "Asking …"}</p>;
  return (
    <>
      {servers.length === 0 && <p className="faint">{problem ?? "This session has none."}</p>}
      <ul className="servers">
        {servers.map((server) => (
          <li key={server.name}>
            <span className={`server-state ${server.status}`} aria-hidden />
            <div>
              <strong>{server.name}</strong>
              <p className="faint">
                {[
                  server.status,
                  server.scope,
                  [server.serverInfo?.name, server.serverInfo?.version].filter(Boolean).join(" "),
                ]
                  .filter(Boolean)
                  .join(" · ")}
              </p>
              {server.error !== undefined && <p className="bad">{server.error}</p>}
              {server.tools !== undefined && server.tools.length > 0 && (
                <details>
                  <summary>{several(server.tools.length, "tool")}</summary>
                  <ul className="server-tools">
                    {server.tools.map((tool) => (
                      <li key={tool.name}>
                        <code>{tool.name}</code> <span className="faint">{tool.description}</span>
                      </li>
                    ))}
                  </ul>
                </details>
              )}
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
    </>
  );
}

function serversIn(answer: Json): Told[] {
  const list = (answer as { mcpServers?: Told[] } | null)?.mcpServers;
  return Array.isArray(list) ? list.filter((each) => typeof each?.name === "string") : [];
}
