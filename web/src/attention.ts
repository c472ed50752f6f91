// Calling for a person: notifications, a number in the title, a sound. Each only if it was switched on.
//
// The one rule it keeps: it calls once for each thing, and never for what is being looked at.
import type { SessionSummary } from "./contract";
import { kept } from "./kept";
import { at } from "./place";
import { go, pathOf, type Route } from "./route";
import { store } from "./use";

/** What can be switched on. */
export type Way = "notify" | "sound";

/** Whether a way is on. */
export function isOn(way: Way): boolean {
  return kept(`attention.${way}`, false);
}

/** Begins to watch all sessions. */
export function watchSessions(): () => void {
  let diffs = 0;
  return store.watch((before, { sessions, editor }) => {
    let waiting = editor?.diffs.length ?? 0;
    const newest = editor?.diffs.at(-1);
    if (newest !== undefined && newest.diff_id > diffs) {
      diffs = newest.diff_id;
      callAt({ at: "editor", kind: "diff", id: newest.diff_id }, "claude proposes a change", newest.path);
    }
    for (const [id, now] of sessions) {
      waiting += now.pending.length;
      const then = before.get(id);
      if (then === undefined) continue;
      const asked = now.pending.find(
        (request) => !then.pending.some((known) => known.pending_id === request.pending_id),
      );
      if (asked !== undefined) call(now, `${asked.tool_title || "A question"}`, `asks: ${now.title}`);
      else if (then.state === "running" && now.state !== "running") {
        call(now, now.last_error ?? now.preview, `${now.last_error === null ? "done" : "failed"}: ${now.title}`);
      }
    }
    setTitle(waiting);
  });
}

function setTitle(waiting: number): void {
  document.title = waiting > 0 ? `(${waiting}) Jackfield` : "Jackfield";
  const badge = navigator as { setAppBadge?: (count: number) => Promise<void>; clearAppBadge?: () => Promise<void> };
  (waiting > 0 ? badge.setAppBadge?.(waiting) : badge.clearAppBadge?.())?.catch(() => undefined);
}

function call(session: SessionSummary, body: string, title: string): void {
  callAt({ at: "session", id: session.session_id, seq: null }, title, body);
}

function callAt(place: Route, title: string, body: string): void {
  const path = pathOf(place);
  if (document.hasFocus() && location.pathname === path) return;
  if (isOn("sound")) chime();
  if (!isOn("notify") || typeof Notification === "undefined" || Notification.permission !== "granted") return;
  // One notification per place: what it says now takes the place of what it said before.
  const options = { body: body.slice(0, 200), tag: path, icon: at("/icon.svg"), data: { path } };
  try {
    const shown = new Notification(title, options);
    shown.onclick = () => {
      window.focus();
      go(place);
      shown.close();
    };
  } catch {
    // On phones only the worker may show one.
    navigator.serviceWorker?.ready.then((worker) => worker.showNotification(title, options)).catch(() => undefined);
  }
}

/** Two soft tones, made here: nothing is loaded. */
export function chime(): void {
  const context = new AudioContext();
  const tone = (hertz: number, at: number) => {
    const [oscillator, gain] = [context.createOscillator(), context.createGain()];
    oscillator.frequency.value = hertz;
    gain.gain.setValueAtTime(0, context.currentTime + at);
    gain.gain.linearRampToValueAtTime(0.12, context.currentTime + at + 0.02);
    gain.gain.exponentialRampToValueAtTime(0.001, context.currentTime + at + 0.35);
    oscillator.connect(gain).connect(context.destination);
    oscillator.start(context.currentTime + at);
    oscillator.stop(context.currentTime + at + 0.4);
  };
  tone(660, 0);
  tone(880, 0.14);
  setTimeout(() => void context.close(), 1000);
}
