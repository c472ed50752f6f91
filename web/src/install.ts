// The installable shell: a service worker that keeps the page's own files, never anything of a session.
//
// Browsers allow it only where the page is trustworthy: over TLS, or on loopback.

import { at } from "./place";

interface Policies {
  createPolicy(
    name: string,
    rules: { createScriptURL(address: string): string },
  ): { createScriptURL(address: string): string };
}

/** Whether this page can be installed. */
export function isInstallable(): boolean {
  return window.isSecureContext && "serviceWorker" in navigator;
}

/** Registers the worker, where that is possible. */
export function installShell(): void {
  if (!isInstallable() || !import.meta.env.PROD) return;
  const policies = (window as { trustedTypes?: Policies }).trustedTypes;
  const policy = policies?.createPolicy("jackfield-shell", { createScriptURL: () => at("/shell.js") });
  const address = policy === undefined ? at("/shell.js") : policy.createScriptURL("");
  // It is a comfort: without it everything works, only not offline.
  navigator.serviceWorker.register(address).catch(() => undefined);
}
