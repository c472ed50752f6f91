// What the connection needs of a browser: a WebSocket, timers, names.
import type { Socket, Surroundings } from "./connection";
import { at } from "./place";

/** The browser's own. */
export const browserSurroundings: Surroundings = {
  open: () => {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    return new WebSocket(`${scheme}//${location.host}${at("/api/socket")}`) as unknown as Socket;
  },
  after: (milliseconds, action) => {
    const timer = setTimeout(action, milliseconds);
    return () => clearTimeout(timer);
  },
  random: Math.random,
  now: Date.now,
  name: freshName,
};

/** A name that was never given before. */
export function freshName(): string {
  // `randomUUID` exists only where the page is trustworthy (TLS or loopback).
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [0, 8, 12, 16, 20].map((at, i, all) => hex.slice(at, all[i + 1])).join("-");
}

/** What people read as the one who answered. */
export function clientName(): string {
  const agent = navigator.userAgent;
  const browser = /Firefox/.test(agent)
    ? "Firefox"
    : /Edg\//.test(agent)
      ? "Edge"
      : /Chrom/.test(agent)
        ? "Chrome"
        : /Safari/.test(agent)
          ? "Safari"
          : "browser";
  const place = /iPhone|iPad/.test(agent)
    ? "iOS"
    : /Android/.test(agent)
      ? "Android"
      : /Mac OS/.test(agent)
        ? "macOS"
        : /Windows/.test(agent)
          ? "Windows"
          : "Linux";
  return `${browser} on ${place}`;
}
