// What the page knows: the sessions, the opened transcripts, the connection. Views read it and give commands.
//
// Frames are collected and folded in once per animation frame, so that a fast stream costs one rendering per
// frame. The one rule it keeps: what a view reads changes only between two renderings, and always whole.

import { key } from "./access";
import * as api from "./api";
import { Connection, type Link, type Outcome, type SessionFrame } from "./connection";
import type {
  ApiRetry,
  Command,
  Dictation,
  EditorState,
  FrameOf,
  HostSettings,
  Rejection,
  Reply,
  Seq,
  SessionId,
  SessionSummary,
} from "./contract";
import { browserSurroundings, clientName } from "./surroundings";
import { prepend } from "./transcript/items";
import { EMPTY, fromSnapshot, reduce, type Transcript } from "./transcript/reduce";
import { extend, NO_TIMELINE, type Timeline } from "./transcript/timeline";

/** A session whose conversation is shown. */
export interface Opened {
  readonly transcript: Transcript;
  readonly timeline: Timeline;
  /** Whether there are earlier items that are not here. */
  readonly earlier: boolean;
  readonly loadingEarlier: boolean;
  /** Whether all there is has arrived. */
  readonly current: boolean;
  /** The API is being asked again. */
  readonly retry: (ApiRetry & { readonly until: number }) | null;
  /** Why no more will come. */
  readonly gone: string | null;
}

const NOT_YET: Opened = {
  transcript: EMPTY,
  timeline: NO_TIMELINE,
  earlier: false,
  loadingEarlier: false,
  current: false,
  retry: null,
  gone: null,
};

/** Everything at one moment. */
export interface Known {
  readonly link: Link;
  readonly sessions: ReadonlyMap<SessionId, SessionSummary>;
  /** Whether the list has come at least once. */
  readonly listed: boolean;
  readonly opened: ReadonlyMap<SessionId, Opened>;
  readonly settings: HostSettings | null;
  /** What the host is asked as an editor; null where it is none. */
  readonly editor: EditorState | null;
  readonly rejections: readonly Told[];
}

/** A word for the person, until it is put away. */
export interface Told {
  readonly id: number;
  readonly text: string;
}

const EARLIER_ITEMS = 200;
const HIDDEN_MS = 250;
/** So long events are folded in one go. */
const FOLDING_MS = 20;
/** So often a page that catches up is drawn. */
const CATCHING_UP_MS = 400;
/** So many events are folded without a look at the clock. */
const PIECE = 400;

/** Who wants to hear of a changed session list, outside the rendering. */
export type Watcher = (before: ReadonlyMap<SessionId, SessionSummary>, now: Known) => void;

/** Who hears of dictations: each word of the host, and null when the connection broke. */
export type Hearer = (told: Dictation | null) => void;

/** The one store of the page. */
export class Store {
  known: Known = {
    link: { state: "connecting" },
    sessions: new Map(),
    listed: false,
    opened: new Map(),
    settings: null,
    editor: null,
    rejections: [],
  };
  readonly connection: Connection;
  readonly #listeners = new Set<() => void>();
  readonly #watchers = new Set<Watcher>();
  readonly #hearers = new Set<Hearer>();
  #frames: SessionFrame[] = [];
  #scheduled = false;
  #late: ReturnType<typeof setTimeout> | null = null;
  #told = 0;

  constructor() {
    this.connection = new Connection(
      browserSurroundings,
      () => {
        const own = key();
        return own === null ? { client: clientName() } : { client: clientName(), key: own };
      },
      {
        link: (link) => {
          this.#set({ link });
          if (link.state !== "online") for (const hearer of this.#hearers) hearer(null);
        },
        session: (frame) => {
          this.#frames.push(...inPieces(frame));
          this.#schedule();
        },
        sessions: (frame) => this.#sessions(frame),
        editor: (frame) => this.#editor(frame),
        dictation: (frame) => {
          for (const hearer of this.#hearers) hearer(frame);
        },
        anotherHost: () => {
          this.#frames = [];
          this.#set({ sessions: new Map(), opened: new Map(), listed: false, editor: null });
        },
      },
    );
  }

  /** Calls `listener` after every change; gives what ends that. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Waits for the host if it is away; `false` if it does not come within `patience` milliseconds. */
  reached(patience: number): Promise<boolean> {
    const isOnline = () => this.known.link.state === "online";
    if (isOnline()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const settle = (reached: boolean) => {
        clearTimeout(timer);
        leave();
        resolve(reached);
      };
      const timer = setTimeout(() => settle(false), patience);
      const leave = this.subscribe(() => isOnline() && settle(true));
      this.connection.nudge();
    });
  }

  /** Calls `watcher` whenever the list changed. */
  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Calls `hearer` with what comes of dictations. */
  hear(hearer: Hearer): () => void {
    this.#hearers.add(hearer);
    return () => this.#hearers.delete(hearer);
  }

  /** A session's conversation; empty until it has come. */
  opened(session: SessionId): Opened {
    return this.known.opened.get(session) ?? NOT_YET;
  }

  /** Begins to follow a session. */
  open(session: SessionId): void {
    this.connection.subscribe(session);
  }

  /** Ends it and forgets the conversation. */
  close(session: SessionId): void {
    this.connection.unsubscribe(session);
    const opened = new Map(this.known.opened);
    opened.delete(session);
    this.#set({ opened });
  }

  /** Gives a command and waits for its answer. */
  async command(command: Command, session?: SessionId, id?: string): Promise<Outcome> {
    return this.connection.command(command, session, id);
  }

  /** Gives a command; if it is rejected, the person is told. */
  async ask(command: Command, session?: SessionId): Promise<Reply | null> {
    const outcome = await this.command(command, session);
    if ("reply" in outcome) return outcome.reply;
    this.tell(words(outcome.rejection));
    return null;
  }

  /** Tells the person something, until they put it away. */
  tell(text: string): void {
    this.#told += 1;
    this.#set({ rejections: [...this.known.rejections.slice(-3), { id: this.#told, text }] });
  }

  /** Puts a word away. */
  putAway(id: number): void {
    this.#set({ rejections: this.known.rejections.filter((told) => told.id !== id) });
  }

  /** Loads what the host can be used with. */
  async loadSettings(): Promise<void> {
    this.#set({ settings: await api.settings() });
  }

  /** Loads items before those that are there. */
  async loadEarlier(session: SessionId): Promise<void> {
    const { earlier, loadingEarlier, timeline } = this.opened(session);
    if (!earlier || loadingEarlier || timeline.first === 0) return;
    this.#change(session, (now) => ({ ...now, loadingEarlier: true }));
    try {
      const page = await api.items(session, timeline.first, EARLIER_ITEMS);
      this.#change(session, (now) => {
        const transcript = { ...now.transcript, items: prepend(now.transcript.items, page.items) };
        return { ...now, transcript, timeline: extend(now.timeline, transcript), earlier: page.earlier };
      });
    } catch (error) {
      this.tell(error instanceof Error ? error.message : String(error));
    } finally {
      this.#change(session, (now) => ({ ...now, loadingEarlier: false }));
    }
  }

  /** Loads earlier items until one of them is there. */
  async loadUpTo(session: SessionId, seq: Seq): Promise<void> {
    for (let page = 0; page < 500; page += 1) {
      const { earlier, timeline } = this.opened(session);
      if (!earlier || timeline.first <= seq) return;
      await this.loadEarlier(session);
      if (this.opened(session).timeline.first === timeline.first) return;
    }
  }

  #sessions({ sessions: changed, deleted = [] }: FrameOf<"sessions">): void {
    const before = this.known.sessions;
    const sessions = new Map(before);
    for (const summary of changed) sessions.set(summary.session_id, summary);
    for (const id of deleted) sessions.delete(id);
    this.known = { ...this.known, sessions, listed: true };
    for (const watcher of this.#watchers) watcher(before, this.known);
    this.#schedule();
  }

  #editor({ diffs, files, connected }: FrameOf<"editor">): void {
    this.known = { ...this.known, editor: { diffs, files, connected } };
    for (const watcher of this.#watchers) watcher(this.known.sessions, this.known);
    this.#schedule();
  }

  /** Takes sessions that a page of the list brought; what came live is newer. */
  addSessions(list: readonly SessionSummary[]): void {
    const sessions = new Map(this.known.sessions);
    for (const summary of list) {
      const known = sessions.get(summary.session_id);
      if (known === undefined || known.seq <= summary.seq) sessions.set(summary.session_id, summary);
    }
    this.#set({ sessions });
  }

  #change(session: SessionId, how: (opened: Opened) => Opened): void {
    if (!this.known.opened.has(session)) return;
    this.#set({ opened: new Map(this.known.opened).set(session, how(this.opened(session))) });
  }

  #set(part: Partial<Known>): void {
    this.known = { ...this.known, ...part };
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    const flush = () => {
      const catchesUp = this.#fold();
      this.#scheduled = this.#frames.length > 0;
      // What is too much for one moment goes on in the next: the page answers in between.
      if (this.#scheduled) setTimeout(flush);
      // What only catches up is drawn now and then.
      if (catchesUp || this.#scheduled) this.#late ??= setTimeout(() => this.#draw(), CATCHING_UP_MS);
      else this.#draw();
    };
    // A hidden page gets no animation frames, and must still count what waits for an answer.
    if (document.hidden) setTimeout(flush, HIDDEN_MS);
    else requestAnimationFrame(flush);
  }

  #draw(): void {
    if (this.#late !== null) clearTimeout(this.#late);
    this.#late = null;
    for (const listener of this.#listeners) listener();
  }

  /** Folds frames in; tells whether all of them were of sessions that have not all there is yet. */
  #fold(): boolean {
    if (this.#frames.length === 0) return false;
    const opened = new Map(this.known.opened);
    const begun = performance.now();
    let done = 0;
    for (; done < this.#frames.length && performance.now() - begun < FOLDING_MS; done += 1) {
      const frame = this.#frames[done] as SessionFrame;
      opened.set(frame.session_id, folded(opened.get(frame.session_id) ?? NOT_YET, frame));
    }
    const frames = this.#frames.splice(0, done);
    for (const id of new Set(frames.map((frame) => frame.session_id))) {
      const now = opened.get(id);
      if (now !== undefined) opened.set(id, { ...now, timeline: extend(now.timeline, now.transcript) });
    }
    this.known = { ...this.known, opened };
    return frames.every((frame) => opened.get(frame.session_id)?.current === false);
  }
}

/** A frame as frames of which none takes long. */
function inPieces(frame: SessionFrame): SessionFrame[] {
  if (frame.type !== "events" || frame.events.length <= PIECE) return [frame];
  const pieces: SessionFrame[] = [];
  for (let at = 0; at < frame.events.length; at += PIECE) {
    pieces.push({ ...frame, events: frame.events.slice(at, at + PIECE) });
  }
  return pieces;
}

function folded(opened: Opened, frame: SessionFrame): Opened {
  switch (frame.type) {
    case "snapshot":
      return {
        ...opened,
        transcript: fromSnapshot(frame.snapshot),
        timeline: NO_TIMELINE,
        earlier: frame.earlier,
        retry: null,
        gone: null,
      };
    case "events": {
      let { transcript, retry } = opened;
      for (const event of frame.events) {
        transcript = reduce(transcript, event);
        if (event.type === "api_retry") retry = { ...event, until: event.at + event.delay_ms };
        else if (event.type !== "hook" && event.type !== "stderr") retry = null;
      }
      return { ...opened, transcript, retry };
    }
    case "current":
      return { ...opened, current: true };
    case "unsubscribed":
      return { ...opened, gone: frame.reason ?? null };
    default:
      // A gap: the snapshot that follows says all.
      return opened;
  }
}

/** A rejection in words. */
export function words(rejection: Rejection): string {
  return rejection.reason;
}
