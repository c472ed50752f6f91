// Copies of a conversation: up to a message and with it, or up to before a prompt, which can then be said differently.
import type { SessionId, Uuid } from "../../contract";
import { goToSession } from "../../route";
import { store } from "../../use";
import { putDraft } from "../composer/draft";

/** Begins another session with a copy of a conversation, up to a message if one is given, and goes there. */
export async function fork(session: SessionId, at?: Uuid): Promise<void> {
  const reply = await store.ask(at === undefined ? { type: "fork" } : { type: "fork", at }, session);
  if (reply?.type === "created") goToSession(reply.session_id);
}

/** Begins another session with what was said before a prompt, and goes there with the prompt as a draft. */
export async function forkBefore(session: SessionId, prompt: Uuid, words: string): Promise<void> {
  const command = { type: "rewind", uuid: prompt, scope: "conversation", preview: false } as const;
  const reply = await store.ask(command, session);
  if (reply?.type === "created") goBackIn(reply.session_id, words);
}

/** Goes to a copy that ends before a prompt, with the prompt as a draft. */
export function goBackIn(copy: SessionId, words: string): void {
  putDraft(copy, words);
  goToSession(copy);
  store.tell("This is a copy up to there. What was said after is in the session that it was copied from.");
}
