// Begins another session with a copy of a conversation, and goes there.
import type { SessionId, Uuid } from "../../contract";
import { goToSession } from "../../route";
import { store } from "../../use";

/** Copies a conversation, up to a message if one is given. */
export async function fork(session: SessionId, at?: Uuid): Promise<void> {
  const reply = await store.ask(at === undefined ? { type: "fork" } : { type: "fork", at }, session);
  if (reply?.type === "created") goToSession(reply.session_id);
}
