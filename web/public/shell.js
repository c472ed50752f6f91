// The page's shell, kept by the browser so that it opens at once and says honestly that the host is away.
// Only files whose names carry their content's hash are kept, and the page itself for when the host is not there.
// Nothing under /api is ever looked at.
const SHELL = "jackfield-shell-1";
/** Where the page lies: `/`, or below the path of a proxy. */
const HOME = new URL(self.registration.scope).pathname;

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== self.location.origin || url.pathname.startsWith(`${HOME}api`)) return;
  if (url.pathname.startsWith(`${HOME}assets/`)) event.respondWith(keptFirst(request));
  else if (request.mode === "navigate") event.respondWith(hostFirst(request));
});

async function keptFirst(request) {
  const shell = await caches.open(SHELL);
  const kept = await shell.match(request);
  if (kept) return kept;
  const fresh = await fetch(request);
  if (fresh.ok) await shell.put(request, fresh.clone());
  return fresh;
}

async function hostFirst(request) {
  const shell = await caches.open(SHELL);
  try {
    const fresh = await fetch(request);
    if (fresh.ok) await shell.put(HOME, fresh.clone());
    return fresh;
  } catch (error) {
    const kept = await shell.match(HOME);
    if (kept) return kept;
    throw error;
  }
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const path = event.notification.data?.path ?? HOME;
  event.waitUntil(
    self.clients.matchAll({ type: "window" }).then((windows) => {
      const open = windows[0];
      return open ? open.focus().then(() => open.navigate(path)) : self.clients.openWindow(path);
    }),
  );
});
