// What this browser keeps for itself: drafts, choices, what was read. Nothing of it goes to the host.
import { useSyncExternalStore } from "react";

const PREFIX = "jackfield.";
const listeners = new Set<() => void>();

/** A kept value, or what stands for it. */
export function kept<T>(name: string, otherwise: T): T {
  const text = localStorage.getItem(PREFIX + name);
  if (text === null) return otherwise;
  try {
    return JSON.parse(text) as T;
  } catch {
    return otherwise;
  }
}

/** Keeps a value; null forgets it. */
export function keep(name: string, value: unknown): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // No room left, or storage is off: the page works, it only forgets.
  }
  for (const listener of listeners) listener();
}

/** A kept word, followed. */
export function useKept<T extends string | number | boolean>(name: string, otherwise: T): [T, (value: T) => void] {
  const value = useSyncExternalStore(subscribe, () => kept(name, otherwise));
  return [value, (next) => keep(name, next)];
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}
