// The connection to the host: one WebSocket, made again whenever it breaks.
//
// It greets, subscribes with a cursor, hands on frames in order and carries commands until they are answered. It
// knows nothing of transcripts or of React. The rules it keeps: an event is handed on once and without a hole, and
// a command keeps its id over every reconnection, so that the host does it once.
import {
  type ClientFrame,
  type ClientHello,
  type Command,
  type FrameOf,
  type GivenCommand,
  type Rejection,
  type Reply,
  type Seq,
  type ServerFrame,
  type ServerHello,
  type SessionId,
  VERSION,
} from "./contract";

/** What is used of a WebSocket. */
export interface Socket {
  send(message: string | ArrayBuffer): void;
  close(code?: number): void;
  onopen: (() => void) | null;
  onmessage: ((message: { data: unknown }) => void) | null;
  onclose: ((closed: { code: number; reason: string }) => void) | null;
}

/** What the connection needs of its surroundings; a test gives its own. */
export interface Surroundings {
  /** Begins to open a socket. */
  open(): Socket;
  /** Runs `action` later; gives what undoes it. */
  after(milliseconds: number, action: () => void): () => void;
  /** From 0 up to 1. */
  random(): number;
  /** Milliseconds since 1970. */
  now(): number;
  /** A name that was never given before. */
  name(): string;
}

/** How the connection stands. */
export type Link =
  | { readonly state: "connecting" }
  | { readonly state: "online"; readonly host: ServerHello }
  | { readonly state: "offline"; readonly attempt: number; readonly retryAt: number }
  | { readonly state: "refused"; readonly code: number; readonly reason: string };

/** What comes of a session, in order and without a hole. */
export type SessionFrame = FrameOf<"snapshot" | "events" | "gap" | "current" | "unsubscribed">;

/** Who hears of all this. */
export interface Listener {
  link(link: Link): void;
  session(frame: SessionFrame): void;
  sessions(frame: FrameOf<"sessions">): void;
  editor(frame: FrameOf<"editor">): void;
  dictation(frame: FrameOf<"dictation">): void;
  /** Cursors of another host mean nothing: all that is known of sessions is to be forgotten. */
  anotherHost(): void;
}

/** What came of a command. */
export type Outcome = { readonly reply: Reply } | { readonly rejection: Rejection };

/** Close codes with which the server says that trying again is of no use: another version, no good key. */
export const REFUSED_CODES: ReadonlySet<number> = new Set([4000, 4001]);

/** The host takes no longer message; one that is would break the connection, and would be sent again for ever. */
const LONGEST_MESSAGE = 1024 * 1024;
/** How long an answer to a probe may take before the socket is taken for dead. */
const PROBE_MS = 5_000;
/** The longest wait between two attempts. */
const LONGEST_WAIT_MS = 10_000;

interface Waiting {
  readonly given: GivenCommand;
  readonly settle: (outcome: Outcome) => void;
}

/** A connection that lasts as long as the page. */
export class Connection {
  #link: Link = { state: "connecting" };
  #socket: Socket | null = null;
  #attempt = 0;
  #hostId: string | null = null;
  #cancelRetry: (() => void) | null = null;
  #cancelProbe: (() => void) | null = null;
  /** The last event that was handed on, per session; null if there is none yet. */
  readonly #cursors = new Map<SessionId, Seq | null>();
  readonly #waiting = new Map<string, Waiting>();

  constructor(
    private readonly surroundings: Surroundings,
    private readonly hello: () => Omit<ClientHello, "version">,
    private readonly listener: Listener,
  ) {}

  /** How it stands. */
  get link(): Link {
    return this.#link;
  }

  /** How many commands have no answer yet. */
  get unanswered(): number {
    return this.#waiting.size;
  }

  /** Opens the first socket. */
  start(): void {
    this.#open();
  }

  /** Closes for good. */
  stop(): void {
    this.#cancelRetry?.();
    this.#drop(1000);
  }

  /** Asks for a session's events, now and after every reconnection. */
  subscribe(session: SessionId): void {
    if (this.#cursors.has(session)) return;
    this.#cursors.set(session, null);
    if (this.#link.state === "online") this.#send({ type: "subscribe", session_id: session });
  }

  /** Asks for no more of them. */
  unsubscribe(session: SessionId): void {
    if (!this.#cursors.delete(session)) return;
    if (this.#link.state === "online") this.#send({ type: "unsubscribe", session_id: session });
  }

  /** Gives a command. The promise is kept only by an answer, however often the connection breaks. */
  command(command: Command, session?: SessionId, id = this.surroundings.name()): Promise<Outcome> {
    return new Promise((settle) => {
      const given: GivenCommand = { id, command };
      if (session !== undefined) given.session_id = session;
      if (new TextEncoder().encode(JSON.stringify({ type: "command", ...given })).length > LONGEST_MESSAGE) {
        settle({ rejection: { code: "invalid", reason: "this is too long to send; the host takes one mebibyte" } });
        return;
      }
      this.#waiting.set(id, { given, settle });
      if (this.#link.state === "online") this.#send({ type: "command", ...given });
    });
  }

  /** Sends a frame of a dictation, or its sound; `false` if there is no connection. It is never sent again. */
  speak(message: ClientFrame | ArrayBuffer): boolean {
    if (this.#link.state !== "online" || this.#socket === null) return false;
    this.#socket.send(message instanceof ArrayBuffer ? message : JSON.stringify(message));
    return true;
  }

  /** The network or the page came back: tries at once, or finds out whether the socket still lives. */
  nudge(): void {
    if (this.#link.state === "offline") {
      this.#open();
    } else if (this.#link.state === "online" && this.#cancelProbe === null) {
      const socket = this.#socket;
      this.#cancelProbe = this.surroundings.after(PROBE_MS, () => {
        this.#cancelProbe = null;
        if (socket === this.#socket) this.#lost(4999, "no answer");
      });
      this.#send({ type: "watch" });
    }
  }

  #open(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = null;
    this.#drop(1000);
    this.#tell({ state: "connecting" });
    let socket: Socket;
    try {
      socket = this.surroundings.open();
    } catch (error) {
      this.#lost(4999, String(error));
      return;
    }
    this.#socket = socket;
    socket.onopen = () => {
      if (socket === this.#socket) this.#send({ type: "hello", version: VERSION, ...this.hello() });
    };
    socket.onmessage = ({ data }) => {
      if (socket === this.#socket) this.#receive(data);
    };
    socket.onclose = ({ code, reason }) => {
      if (socket === this.#socket) this.#lost(code, reason);
    };
  }

  #receive(data: unknown): void {
    this.#cancelProbe?.();
    this.#cancelProbe = null;
    let frame: ServerFrame;
    try {
      frame = JSON.parse(String(data)) as ServerFrame;
    } catch {
      // Half a frame is a broken connection, not a frame to skip: something behind it may be missing.
      this.#lost(4998, "unreadable frame");
      return;
    }
    switch (frame.type) {
      case "hello":
        this.#greeted(frame);
        break;
      case "sessions":
        this.listener.sessions(frame);
        break;
      case "editor":
        this.listener.editor(frame);
        break;
      case "dictation":
        this.listener.dictation(frame);
        break;
      case "accepted":
        this.#settle(frame.id, { reply: frame.reply });
        break;
      case "rejected":
        this.#settle(frame.id, { rejection: frame.rejection });
        break;
      case "snapshot":
        if (!this.#cursors.has(frame.session_id)) break;
        this.#cursors.set(frame.session_id, frame.snapshot.seq);
        this.listener.session(frame);
        break;
      case "events":
        this.#events(frame);
        break;
      case "gap":
      case "current":
      case "unsubscribed":
        if (this.#cursors.has(frame.session_id)) this.listener.session(frame);
        break;
      default:
        // `refused`, and frames of a later contract.
        break;
    }
  }

  #greeted(host: FrameOf<"hello">): void {
    this.#attempt = 0;
    if (this.#hostId !== null && this.#hostId !== host.host_id) {
      for (const session of this.#cursors.keys()) this.#cursors.set(session, null);
      this.listener.anotherHost();
    }
    this.#hostId = host.host_id;
    this.#send({ type: "watch" });
    for (const [session_id, after] of this.#cursors) {
      this.#send(after === null ? { type: "subscribe", session_id } : { type: "subscribe", session_id, after });
    }
    for (const { given } of this.#waiting.values()) this.#send({ type: "command", ...given });
    this.#tell({ state: "online", host });
  }

  #events(frame: FrameOf<"events">): void {
    const cursor = this.#cursors.get(frame.session_id);
    if (cursor === undefined) return;
    const last = frame.events.at(-1);
    if (last === undefined) return;
    const fresh = cursor === null ? frame.events : frame.events.filter((event) => event.seq > cursor);
    const first = fresh[0];
    if (first === undefined) return;
    if (cursor !== null && first.seq !== cursor + 1) {
      // The server never leaves a hole without a word; if there is one, begin again from what is sure.
      this.#send({ type: "unsubscribe", session_id: frame.session_id });
      this.#send({ type: "subscribe", session_id: frame.session_id, after: cursor });
      return;
    }
    this.#cursors.set(frame.session_id, last.seq);
    this.listener.session({ ...frame, events: fresh });
  }

  #settle(id: string, outcome: Outcome): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    waiting.settle(outcome);
  }

  #lost(code: number, reason: string): void {
    this.#drop(1000);
    if (REFUSED_CODES.has(code)) {
      this.#tell({ state: "refused", code, reason });
      return;
    }
    const wait = Math.min(LONGEST_WAIT_MS, 250 * 2 ** this.#attempt) * (0.5 + this.surroundings.random() / 2);
    this.#attempt += 1;
    this.#cancelRetry = this.surroundings.after(wait, () => this.#open());
    this.#tell({ state: "offline", attempt: this.#attempt, retryAt: this.surroundings.now() + wait });
  }

  #drop(code: number): void {
    const socket = this.#socket;
    this.#socket = null;
    this.#cancelProbe?.();
    this.#cancelProbe = null;
    if (socket === null) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close(code);
  }

  #send(frame: ClientFrame): void {
    this.#socket?.send(JSON.stringify(frame));
  }

  #tell(link: Link): void {
    this.#link = link;
    this.listener.link(link);
  }
}
