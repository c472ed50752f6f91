// Keys that work everywhere on the page.
import { useEffect, useRef } from "react";
import { go, type Route, routeOf } from "../route";
import { find } from "../transcript/items";
import { store } from "../use";
import { draftOf } from "./composer/draft";
import { nextMode } from "./composer/modes";

/** What a key opens. */
export type Opening = "new" | "history" | "keys" | "palette";

const TWICE_MS = 600;

/** Follows the keyboard. */
export function useGlobalKeys(route: Route, onOpen: (opening: Opening) => void): void {
  const lastEscape = useRef(0);
  useEffect(() => {
    const session = route.at === "session" ? route.id : null;
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || document.querySelector("dialog[open], [popover]:popover-open")) return;
      const target = event.target as HTMLElement;
      const typing = target.matches("textarea, input, select, [contenteditable]");
      const control = event.ctrlKey || event.metaKey;
      if (control && event.key.toLowerCase() === "k") {
        event.preventDefault();
        onOpen("palette");
      } else if (control && event.shiftKey && event.key.toLowerCase() === "o") {
        event.preventDefault();
        onOpen("new");
      } else if (event.key === "?" && !typing) {
        event.preventDefault();
        onOpen("keys");
      } else if (event.key === "/" && !typing && session !== null) {
        event.preventDefault();
        document.querySelector<HTMLElement>(".composer-field")?.focus();
      } else if (session !== null && event.key === "Escape") {
        stopOrRewind(session, performance.now() - lastEscape.current < TWICE_MS);
        lastEscape.current = performance.now();
      } else if (session !== null && event.key === "Tab" && event.shiftKey && isComposer(target)) {
        event.preventDefault();
        const mode =
          store.opened(session).transcript.status?.permission_mode ??
          store.known.sessions.get(session)?.permission_mode ??
          "default";
        void store.ask({ type: "set_mode", permission_mode: nextMode(mode) }, session);
      } else if (event.altKey && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
        event.preventDefault();
        walk(session, event.key === "ArrowDown" ? 1 : -1);
      }
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [route, onOpen]);
}

function isComposer(target: HTMLElement): boolean {
  return target.matches(".composer-field, body, .card, .timeline-scroll");
}

/** Stops the running turn; twice at rest, goes back to the last prompt. */
function stopOrRewind(session: string, twice: boolean): void {
  const { transcript, timeline } = store.opened(session);
  if (transcript.state === "running") {
    void store.ask({ type: "interrupt" }, session);
    return;
  }
  if (!twice || draftOf(session).text !== "") return;
  const last = timeline.prompts.at(-1);
  const content = last === undefined ? undefined : find(transcript.items, last)?.content;
  if (content?.type === "user_message" && content.uuid !== null) {
    window.dispatchEvent(new CustomEvent("jackfield:rewind", { detail: { uuid: content.uuid, words: content.text } }));
  }
}

/** Goes to the session above or below in the list, as it is drawn. */
function walk(session: string | null, step: number): void {
  const rows = [...document.querySelectorAll<HTMLAnchorElement>(".session-list a.session-row")];
  const places = rows.map((row) => routeOf(row.pathname));
  const at = places.findIndex((place) => place.at === "session" && place.id === session);
  const next = places[at < 0 ? 0 : (at + step + places.length) % places.length];
  if (next !== undefined) go(next);
}
