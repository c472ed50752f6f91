// Answers to open questions, on their way.
//
// The one rule it keeps: an answer is on its way once, and the person sees that it is until the host has it.
import { useState } from "react";
import type { PendingId, PermissionRequest, SessionId, Verdict } from "../../contract";
import { store } from "../../use";

const given = new Set<string>();

/** Whether this page gave the answer. */
export function isOurs(session: SessionId, id: PendingId): boolean {
  return given.has(`${session} ${id}`);
}

/** What a card needs to answer: a function that tells whether the answer counted, and whether one is on its way. */
export function useAnswer(session: SessionId, request: PermissionRequest) {
  const [sending, setSending] = useState(false);
  const answer = async (verdict: Verdict): Promise<boolean> => {
    if (sending) return false;
    setSending(true);
    given.add(`${session} ${request.pending_id}`);
    const outcome = await store.command({ type: "answer", pending_id: request.pending_id, verdict }, session);
    if ("rejection" in outcome) {
      given.delete(`${session} ${request.pending_id}`);
      setSending(false);
      store.tell(outcome.rejection.reason);
    }
    return "reply" in outcome;
  };
  return { answer, sending };
}
