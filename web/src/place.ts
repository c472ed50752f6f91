// Where the page lies: nothing, or the path that a proxy puts before all others (`/jackfield`).
//
// The page's own files know it by their own addresses, so that nothing has to be told to the page. The one rule it
// keeps: every address that the page makes goes through here.

/** What stands before every path of the page. */
export const BASE = baseOf(import.meta.url);

/** The base path by the address of one of the built files. */
export function baseOf(script: string): string {
  return /^(.*)\/assets\/[^/]*$/.exec(new URL(script).pathname)?.[1] ?? "";
}

/** A path of the host as it is reached from here. */
export function at(path: string): string {
  return BASE + path;
}

/** A path as it would be without the base path. */
export function without(path: string): string {
  return BASE !== "" && path.startsWith(`${BASE}/`) ? path.slice(BASE.length) : path;
}
