// How this tab gets in: a ticket in the address's fragment is exchanged once for a cookie and a key.
//
// The key stays in this tab's own storage; the cookie alone opens nothing, because cookies do not keep ports of
// one machine apart. The one rule it keeps: the ticket leaves the address before anything else happens.
import { at } from "./place";

const KEY = "jackfield.key";
const CHANNEL = "jackfield.key";
const ASK_MS = 300;

/** The key of this tab, if it has one. */
export function key(): string | null {
  return sessionStorage.getItem(KEY);
}

/** Forgets it. */
export function forgetKey(): void {
  sessionStorage.removeItem(KEY);
}

/** Why nobody is in. */
export type NoAccess = "no ticket" | "ticket refused" | "no host";

/** Uses the ticket if there is one, else the key of this tab, else asks the other tabs for theirs. */
export async function enter(): Promise<NoAccess | null> {
  const ticket = takeTicket();
  if (ticket !== null) {
    const refused = await login(ticket);
    if (refused === null) shareKey();
    return refused;
  }
  if (key() === null) {
    const lent = await askOtherTabs();
    if (lent === null) return "no ticket";
    sessionStorage.setItem(KEY, lent);
  }
  shareKey();
  return null;
}

async function login(ticket: string): Promise<NoAccess | null> {
  try {
    const response = await fetch(at("/api/login"), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ticket }),
    });
    if (!response.ok) return "ticket refused";
    const { key: given } = (await response.json()) as { key: string };
    sessionStorage.setItem(KEY, given);
    return null;
  } catch {
    return "no host";
  }
}

function takeTicket(): string | null {
  const ticket = new URLSearchParams(location.hash.slice(1)).get("ticket");
  if (ticket === null) return null;
  history.replaceState(null, "", location.pathname + location.search);
  return ticket;
}

// Tabs of the same origin (the same port too) may lend each other the key; nobody else hears this channel.
function shareKey(): void {
  if (typeof BroadcastChannel === "undefined") return;
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }) => {
    const own = key();
    if (data === "ask" && own !== null) channel.postMessage({ key: own });
  };
}

function askOtherTabs(): Promise<string | null> {
  if (typeof BroadcastChannel === "undefined") return Promise.resolve(null);
  return new Promise((resolve) => {
    const channel = new BroadcastChannel(CHANNEL);
    const end = (lent: string | null) => {
      channel.close();
      resolve(lent);
    };
    setTimeout(() => end(null), ASK_MS);
    channel.onmessage = ({ data }) => {
      if (typeof data?.key === "string") end(data.key);
    };
    channel.postMessage("ask");
  });
}
