// The store in React: one context-free instance, read by selectors.
import { useSyncExternalStore } from "react";
import type { Item, Seq, SessionId, SessionSummary } from "./contract";
import { type Known, type Opened, Store } from "./store";
import { find } from "./transcript/items";

/** The one store of the page. */
export const store = new Store();

/** A part of what is known. `select` must give the same object for the same knowledge. */
export function useKnown<T>(select: (known: Known) => T): T {
  return useSyncExternalStore(store.subscribe, () => select(store.known));
}

/** A part of an opened session. */
export function useOpened<T>(session: SessionId, select: (opened: Opened) => T): T {
  return useSyncExternalStore(store.subscribe, () => select(store.opened(session)));
}

/** One item of an opened session. */
export function useItem(session: SessionId, seq: Seq): Item | undefined {
  return useSyncExternalStore(store.subscribe, () => find(store.opened(session).transcript.items, seq));
}

/** How a session stands in the list. */
export function useSummary(session: SessionId): SessionSummary | undefined {
  return useKnown((known) => known.sessions.get(session));
}
