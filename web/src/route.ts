// Where in the page one is: the address's path, and nothing else.
import { useSyncExternalStore } from "react";
import type { Seq, SessionId } from "./contract";
import { at, without } from "./place";

/** A place. */
export type Route =
  | { readonly at: "home" }
  | { readonly at: "session"; readonly id: SessionId; readonly seq: Seq | null }
  | { readonly at: "settings"; readonly part: SettingsPart }
  | { readonly at: "editor"; readonly kind: "diff" | "file"; readonly id: number };

/** A part of the settings. */
export type SettingsPart = "general" | "rules" | "trust" | "servers" | "usage" | "audit" | "devices";

const PARTS: readonly SettingsPart[] = ["general", "rules", "trust", "servers", "usage", "audit", "devices"];
const listeners = new Set<() => void>();

/** The path of a place. */
export function pathOf(route: Route): string {
  if (route.at === "session") {
    return at(`/s/${encodeURIComponent(route.id)}${route.seq === null ? "" : `?item=${route.seq}`}`);
  }
  if (route.at === "editor") return at(`/editor/${route.kind}/${route.id}`);
  return at(route.at === "settings" ? `/settings/${route.part}` : "/");
}

/** Goes to a place. */
export function go(route: Route): void {
  const path = pathOf(route);
  if (path !== location.pathname + location.search) history.pushState(null, "", path);
  changed();
}

/** Goes to a session. */
export function goToSession(id: SessionId, seq: Seq | null = null): void {
  go({ at: "session", id, seq });
}

/** The place now, followed. */
export function useRoute(): Route {
  const address = useSyncExternalStore(subscribe, () => location.pathname + location.search);
  return routeOf(address);
}

/** The place of an address. */
export function routeOf(address: string): Route {
  const [path = "/", query = ""] = address.split("?");
  const [first, second, third] = without(path).split("/").filter(Boolean);
  if (first === "s" && second !== undefined) {
    const item = Number(new URLSearchParams(query).get("item") ?? Number.NaN);
    return { at: "session", id: decodeURIComponent(second), seq: Number.isFinite(item) ? item : null };
  }
  if (first === "settings") {
    return { at: "settings", part: PARTS.find((part) => part === second) ?? "general" };
  }
  if (first === "editor" && (second === "diff" || second === "file") && /^\d+$/.test(third ?? "")) {
    return { at: "editor", kind: second, id: Number(third) };
  }
  return { at: "home" };
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("popstate", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("popstate", listener);
  };
}

function changed(): void {
  for (const listener of listeners) listener();
}
