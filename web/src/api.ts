// The host's REST routes, typed. What streams goes over the connection; this is for what is asked once.
//
// The one rule it keeps: a failure is an error with words for a person, never a silence.
import { key } from "./access";
import type {
  Costs,
  Decision,
  DeskEntry,
  EditorDiffContent,
  EditorFileContent,
  EditorVerdict,
  FileContent,
  FileDiffs,
  FileList,
  FolderList,
  FolderTrust,
  FolderVerdicts,
  HistoryList,
  HostRules,
  HostSettings,
  ItemPage,
  KeptLines,
  RulesTried,
  Scope,
  SearchHits,
  Seq,
  SessionId,
  SessionPage,
  SetFolderTrust,
  SpeechState,
} from "./contract";
import { at } from "./place";

/** A request that failed. */
export class RequestFailed extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    reason: string,
  ) {
    super(reason);
  }
}

type Query = Record<string, string | number | boolean | null | undefined>;

async function ask(path: string, query: Query = {}, init: RequestInit = {}): Promise<Response> {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") words.set(name, String(value));
  }
  const address = words.size > 0 ? `${path}?${words}` : path;
  const headers = new Headers(init.headers);
  headers.set("x-jackfield-key", key() ?? "");
  let response: Response;
  try {
    response = await fetch(at(address), { ...init, headers });
  } catch {
    throw new RequestFailed(0, "unreachable", "the host cannot be reached");
  }
  if (response.ok) return response;
  const said = await response.json().catch(() => null);
  const { code = "failed", reason = `the host answered ${response.status}` } = said?.error ?? {};
  throw new RequestFailed(response.status, code, reason);
}

async function get<T>(path: string, query: Query = {}): Promise<T> {
  return (await ask(path, query)).json() as Promise<T>;
}

async function give<T>(method: "POST" | "PUT", path: string, body: unknown): Promise<T> {
  const headers = { "content-type": "application/json" };
  const response = await ask(path, {}, { method, headers, body: JSON.stringify(body) });
  return (response.status === 204 ? undefined : await response.json()) as T;
}

const of = (session: SessionId, rest: string) => `/api/sessions/${encodeURIComponent(session)}/${rest}`;

/** Sessions, newest first; only archived ones, or only others. */
export const sessions = (query: { archived: "only" | "false"; before: string | null; limit: number }) =>
  get<SessionPage>("/api/sessions", query);
/** Items before one, oldest first. */
export const items = (session: SessionId, before: Seq, limit: number) =>
  get<ItemPage>(of(session, "items"), { before, limit });
/** All open questions. */
export const desk = () => get<DeskEntry[]>("/api/desk");
/** Past decisions, newest first; only those before a time, if one is given. */
export const decisions = (limit: number, before: number | null) => get<Decision[]>("/api/decisions", { limit, before });
/** The rules of the host. */
export const rules = () => get<HostRules>("/api/rules");
/** Sets them. */
export const setRules = (wanted: HostRules) => give<HostRules>("PUT", "/api/rules", wanted);
/** What they would have said. */
export const tryRules = (wanted: HostRules) => give<RulesTried>("POST", "/api/rules/try", wanted);
/** Looks in all conversations. */
export const search = (words: string) => get<SearchHits>("/api/search", { q: words });
/** What was spent, by day, day and model, model, session or turn. */
export const costs = (by: "day" | "day_model" | "model" | "session" | "turn") => get<Costs>("/api/costs", { by });
/** The CLI's own history. */
export const history = () => get<HistoryList>("/api/history");
/** Folders of the machine. */
export const folders = (path: string | null) => get<FolderList>("/api/folders", { path });
/** What a folder brings by itself, and whether it is trusted with that. */
export const folderTrust = (path: string) => get<FolderTrust>("/api/trust", { path });
/** Trusts a folder with what was shown of it, or no longer. */
export const setFolderTrust = (wanted: SetFolderTrust) => give<FolderTrust>("PUT", "/api/trust", wanted);
/** What was said to folders before. */
export const folderVerdicts = () => get<FolderVerdicts>("/api/trust/folders");
/** Forgets what was said to a folder, which need not be there any more. */
export const forgetFolder = async (path: string) =>
  void (await ask("/api/trust/folders", { path }, { method: "DELETE" }));
/** What the host can be used with. */
export const settings = () => get<HostSettings>("/api/settings");
/** Whether the host understands speech, and which. */
export const speech = () => get<SpeechState>("/api/speech");
/** Files of a session's folder by name. */
export const findFiles = (session: SessionId, words: string) => get<FileList>(of(session, "find"), { q: words });
/** A file of a session's folder. */
export const file = (session: SessionId, path: string) => get<FileContent>(of(session, "file"), { path });
/** What changed in a session's folder since it began, or since git's last commit. */
export const diff = (session: SessionId, against: "baseline" | "git") =>
  get<FileDiffs>(of(session, "diff"), { against });
/** A change that an interactive CLI proposes. */
export const editorDiff = (id: number) => get<EditorDiffContent>(`/api/editor/diffs/${id}`);
/** Decides it. */
export const decideDiff = (id: number, verdict: EditorVerdict) => give<void>("PUT", `/api/editor/diffs/${id}`, verdict);
/** A file that an interactive CLI shows. */
export const editorFile = (id: number) => get<EditorFileContent>(`/api/editor/files/${id}`);
/** A link that works once, and for how many seconds it does. */
export interface Ticket {
  readonly link: string;
  readonly expires_in: number;
}
/** A new link, for another device or tab: what it may do, and what it is called. */
export const ticket = (scope: Scope, name: string) =>
  give<Ticket>("POST", "/api/tickets", name === "" ? { scope } : { scope, name });
/** A browser that was let in. */
export interface Device {
  readonly id: string;
  readonly name: string | null;
  readonly scope: Scope;
  readonly created: number;
  readonly last_seen: number;
  readonly current: boolean;
}
/** All of them, the last seen first. */
export const devices = async () => (await get<{ devices: Device[] }>("/api/devices")).devices;
/** Lets one in no more. */
export const revoke = async (id: string) =>
  void (await ask(`/api/devices/${encodeURIComponent(id)}`, {}, { method: "DELETE" }));
/** Ends this login. */
export const logout = () => give<void>("POST", "/api/logout", {});

/** The events of a session behind one, as text, one per line. */
export async function events(session: SessionId, after: Seq): Promise<string> {
  return (await ask(of(session, "events"), { after })).text();
}

/** The lines between the host and the agent behind one, as far as they are kept. */
export const rawLines = (session: SessionId, after: number) => get<KeptLines>(of(session, "lines"), { after });

/** A session as a file. */
export async function exported(session: SessionId, format: "markdown" | "json"): Promise<Blob> {
  return (await ask(of(session, "export"), { format })).blob();
}
