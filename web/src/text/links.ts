// Which addresses a text of the model may link to.
//
// The one rule it keeps: what is not known to be harmless is no link.

const HARMLESS = new Set(["http:", "https:", "mailto:"]);

/** The address, if it may be followed. */
export function followable(address: string): string | null {
  const trimmed = address.trim();
  if (!/^[a-z][a-z0-9+.-]*:/i.test(trimmed)) return null;
  try {
    const url = new URL(trimmed);
    return HARMLESS.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** A file of the session's folder that a relative link or a path with a line names. */
export function fileOf(address: string): { path: string; line: number | null } | null {
  const found = /^(?!\/\/)(?:file:\/\/)?([^\s?#:]+?)(?:[#:]L?(\d+)(?:[-:].*)?)?$/.exec(address.trim());
  if (found === null || /^[a-z][a-z0-9+.-]*:/i.test(address.replace(/^file:\/\//, ""))) return null;
  return { path: found[1] ?? "", line: found[2] === undefined ? null : Number(found[2]) };
}

/** What to say beside a link whose words look like another address than the one it leads to. */
export function disguise(words: string, address: string): string | null {
  const shown = /^(?:https?:\/\/)?([a-z0-9-]+(?:\.[a-z0-9-]+)+)/i.exec(words.trim())?.[1]?.toLowerCase();
  if (shown === undefined) return null;
  try {
    const host = new URL(address).hostname.toLowerCase();
    return host === shown ? null : host;
  } catch {
    return null;
  }
}
