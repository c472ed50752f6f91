// The draft of a prompt: kept in this browser until the host has it.
//
// A draft carries the names that its prompt will have. If the page ends between sending and the answer, the draft is
// still there with the same names, and sending it again does nothing twice. That is the one rule it keeps.
import { useSyncExternalStore } from "react";
import type { SessionId } from "../../contract";
import { keep, kept } from "../../kept";
import { freshName } from "../../surroundings";

/** What is being written. */
export interface Draft {
  readonly text: string;
  /** The names of the command and of the prompt it becomes. */
  readonly command: string;
  readonly prompt: string;
}

const drafts = new Map<SessionId, Draft>();
const listeners = new Set<() => void>();

/** The draft of a session, followed. */
export function useDraft(session: SessionId): Draft {
  return useSyncExternalStore(subscribe, () => draftOf(session));
}

/** The draft of a session. */
export function draftOf(session: SessionId): Draft {
  const known = drafts.get(session);
  if (known !== undefined) return known;
  const read = kept<Draft | null>(`draft.${session}`, null) ?? fresh("");
  drafts.set(session, read);
  return read;
}

/** Changes it. Another text is another prompt. */
export function putDraft(session: SessionId, text: string): void {
  const before = draftOf(session);
  if (before.text === text) return;
  set(session, fresh(text));
}

/** Forgets it, once the host has it; what was written meanwhile stays. */
export function dropDraft(session: SessionId, sent: Draft): void {
  if (draftOf(session).command === sent.command) set(session, fresh(""));
}

function set(session: SessionId, draft: Draft): void {
  drafts.set(session, draft);
  keep(`draft.${session}`, draft.text === "" ? null : draft);
  for (const listener of listeners) listener();
}

function fresh(text: string): Draft {
  return { text, command: freshName(), prompt: freshName() };
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
