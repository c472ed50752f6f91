// The time, as far as it is shown: it moves by itself, in steps that suit what is shown.
import { useSyncExternalStore } from "react";

const clocks = new Map<
  number,
  { now: number; listeners: Set<() => void>; timer: ReturnType<typeof setInterval> | null }
>();

/** The time, renewed every `step` milliseconds. */
export function useNow(step: number): number {
  const clock = clockOf(step);
  return useSyncExternalStore(
    (listener) => {
      clock.listeners.add(listener);
      clock.timer ??= setInterval(() => {
        clock.now = Date.now();
        for (const each of clock.listeners) each();
      }, step);
      return () => {
        clock.listeners.delete(listener);
        if (clock.listeners.size === 0 && clock.timer !== null) {
          clearInterval(clock.timer);
          clock.timer = null;
        }
      };
    },
    () => clock.now,
  );
}

function clockOf(step: number) {
  const known = clocks.get(step);
  if (known !== undefined) {
    if (known.timer === null) known.now = Math.max(known.now, Date.now() - (Date.now() % step));
    return known;
  }
  const fresh = { now: Date.now(), listeners: new Set<() => void>(), timer: null };
  clocks.set(step, fresh);
  return fresh;
}
