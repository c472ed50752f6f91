// Why there is no sound, in plain words, with what to do.
//
// The one rule it keeps: whatever a browser throws becomes a sentence that a person can act on.

/** What a browser says of itself. */
export interface Browser {
  readonly secure: boolean;
  readonly microphones: boolean;
  readonly touch: boolean;
}

const UNTOUCHED = "Your text is as it was.";

/** Nobody is there who would understand. */
export const AWAY = `The host is away, and it is the one who understands. Try again when it is back. ${UNTOUCHED}`;

/** Why this page cannot even ask for a microphone; null if it can. */
export function obstacle({ secure, microphones, touch }: Browser): string | null {
  if (!secure) {
    const where = touch
      ? "On a phone or tablet that is one with https"
      : "That is one with https, or http://localhost on the machine itself";
    return `A browser gives its microphone only to a secure page. ${where}: serve with TLS (server.tls), or behind a proxy that has it.`;
  }
  return microphones ? null : "This browser has no way to a microphone. Another one, or a newer one, does.";
}

/** Why a microphone was not given. */
export function refusal(error: unknown): string {
  const name = error instanceof Error || error instanceof DOMException ? error.name : "";
  switch (name) {
    case "NotAllowedError":
    case "SecurityError":
      return `The browser does not let this page use the microphone. Allow it in the settings beside the address, and try again. ${UNTOUCHED}`;
    case "NotFoundError":
    case "OverconstrainedError":
      return `No microphone was found. Connect one, or switch it on in the system's settings, and try again. ${UNTOUCHED}`;
    case "NotReadableError":
    case "AbortError":
      return `The microphone cannot be used: another program may have it. Close that one, and try again. ${UNTOUCHED}`;
    default:
      return `The microphone could not be used: ${error instanceof Error ? error.message : String(error)}. ${UNTOUCHED}`;
  }
}

/** Why the browser's own recogniser gave nothing, by its code. */
export function refusalOfBrowser(code: string): string {
  switch (code) {
    case "not-allowed":
      return refusal(new DOMException("", "NotAllowedError"));
    case "audio-capture":
      return refusal(new DOMException("", "NotFoundError"));
    case "network":
    case "service-not-allowed":
      return `The browser's recogniser cannot be reached. ${UNTOUCHED}`;
    case "language-not-supported":
      return `The browser's recogniser does not know this language. ${UNTOUCHED}`;
    default:
      return `No speech was heard. ${UNTOUCHED}`;
  }
}
