// The transcript: a fold over events, the same as the host's own (`jackfield-core`, `transcript.rs`).
//
// `reduce` is pure: it changes nothing it is given, needs no clock and no network. The one rule it keeps: a
// snapshot at any event plus the events behind it gives the same as all events from the beginning.
import type {
  Compaction,
  Event,
  Item,
  ItemContent,
  ItemId,
  PendingId,
  QuestionEnding,
  Seq,
  Snapshot,
  Task,
  ToolCallId,
  ToolItem,
} from "../contract";
import { all, append, change, type Items, itemsOf, NO_ITEMS } from "./items";

/** A snapshot that events can be added to cheaply. */
export interface Transcript extends Omit<Snapshot, "items"> {
  readonly items: Items;
  readonly open: Open;
}

/** The items that still change, by the event that began them. */
interface Open {
  readonly texts: ReadonlyMap<ItemId, Seq>;
  readonly tools: ReadonlyMap<ToolCallId, Seq>;
  readonly questions: ReadonlyMap<PendingId, Seq>;
  readonly compaction: Seq | null;
}

/** How many tasks are kept, those that run aside. */
const TASKS_AT_MOST = 100;

/** Before the first event. */
export const EMPTY: Transcript = {
  session_id: null,
  seq: 0,
  at: 0,
  turn: null,
  state: "ended",
  status: null,
  commands: null,
  items: NO_ITEMS,
  pending: [],
  queue: null,
  todos: null,
  tasks: [],
  context_window: null,
  last_complete: null,
  total_cost_usd: 0,
  rate_limit: null,
  last_run: null,
  open: { texts: new Map(), tools: new Map(), questions: new Map(), compaction: null },
};

/** A transcript that goes on from a snapshot. */
export function fromSnapshot(snapshot: Snapshot): Transcript {
  const texts = new Map<ItemId, Seq>();
  const tools = new Map<ToolCallId, Seq>();
  const questions = new Map<PendingId, Seq>();
  let compaction: Seq | null = null;
  for (const { seq, content } of snapshot.items) {
    if ((content.type === "text" || content.type === "thinking") && content.outcome === null) {
      texts.set(content.item_id, seq);
    } else if (content.type === "tool" && content.tool_status === "running") {
      tools.set(content.tool_call_id, seq);
    } else if (content.type === "question" && content.ending === null) {
      questions.set(content.request.pending_id, seq);
    } else if (content.type === "compaction") {
      compaction = content.status === "running" ? seq : null;
    } else if (content.type === "run_ended") {
      compaction = null;
    }
  }
  if (snapshot.state === "ended") compaction = null;
  return { ...snapshot, items: itemsOf(snapshot.items), open: { texts, tools, questions, compaction } };
}

/** The snapshot of a transcript, as the host would send it. */
export function toSnapshot({ open: _, items, ...rest }: Transcript): Snapshot {
  return { ...rest, items: [...all(items)] };
}

/** The transcript with one more event. Events that are already in it change nothing. */
export function reduce(before: Transcript, event: Event): Transcript {
  if (event.seq <= before.seq) return before;
  const now: Transcript = {
    ...before,
    seq: event.seq,
    at: event.at,
    turn: event.turn,
    session_id: event.session_id,
  };
  switch (event.type) {
    case "message_chunk":
      return grow(now, event, "text", event.item_id, event.message_id, event.text);
    case "reasoning":
      return grow(now, event, "thinking", event.item_id, event.message_id, event.reasoning_text);
    case "item_ended":
      return endText(now, event.item_id, (content) => ({ ...content, outcome: event.outcome }));
    case "tool_preparing":
      return tool(now, event, event.tool_call_id, event.tool_name, (known) => ({
        ...known,
        bytes: event.bytes,
      }));
    case "tool_call":
      return tool(now, event, event.tool_call_id, event.tool_name, (known) => ({
        ...known,
        tool_title: event.tool_title,
        normalized: event.normalized,
        input: event.input,
      }));
    case "tool_update":
      return updateTool(now, event);
    case "permission_request": {
      const request = bodyOf(event);
      const questions = new Map(now.open.questions).set(event.pending_id, event.seq);
      const asked = { ...now, pending: [...now.pending, request], open: { ...now.open, questions } };
      return push(asked, event, { type: "question", request, ending: null });
    }
    case "permission_resolved":
      return endQuestion(now, event.pending_id, {
        outcome: event.outcome,
        by: event.by,
        message: event.message,
        ...(event.input == null ? {} : { input: event.input }),
      });
    case "permission_cancelled":
      return endQuestion(now, event.pending_id, { outcome: null, by: null, message: null });
    case "turn_started":
      return push({ ...now, state: "running" }, event, { type: "turn", trigger: event.trigger });
    case "user_message":
    case "notice":
    case "error":
      return push(now, event, { type: event.type, ...bodyOf(event) } as ItemContent);
    case "file_updated":
      return push(now, event, { type: "file", ...bodyOf(event) });
    case "compaction":
      return compact(now, event, bodyOf(event));
    case "complete": {
      const complete = bodyOf(event);
      const total_cost_usd = now.total_cost_usd + complete.data.cost_usd;
      const ended: Transcript = { ...now, state: "idle", total_cost_usd, last_complete: complete };
      return push(ended, event, { type: "complete", ...complete });
    }
    case "run_started":
      return { ...now, state: "idle", last_run: null };
    case "run_ended": {
      const end = bodyOf(event);
      const ended: Transcript = {
        ...now,
        state: "ended",
        last_run: end,
        open: { ...now.open, compaction: null },
      };
      return push(ended, event, { type: "run_ended", ...end });
    }
    case "session_status":
      return { ...now, status: bodyOf(event) };
    case "mode_changed":
      if (now.status === null) return now;
      return { ...now, status: { ...now.status, permission_mode: event.permission_mode } };
    case "model_changed":
      if (now.status === null) return now;
      return { ...now, status: { ...now.status, model: event.model } };
    case "available_commands":
      return { ...now, commands: bodyOf(event) };
    case "queue":
      return { ...now, queue: bodyOf(event) };
    case "todos":
      return { ...now, todos: bodyOf(event) };
    case "context_window":
      return { ...now, context_window: bodyOf(event) };
    case "rate_limit":
      return { ...now, rate_limit: bodyOf(event) };
    case "task":
      return { ...now, tasks: updateTasks(now.tasks, bodyOf(event)) };
    // Passing words: they are in the log, and no picture of the session needs them.
    default:
      return now;
  }
}

type Envelope = "type" | "seq" | "at" | "session_id" | "turn" | "parent_tool_call_id";

/** An event without its envelope: what a snapshot keeps of it. */
function bodyOf<E extends Event>(event: E): Omit<E, Envelope> {
  const { type: _, seq: _1, at: _2, session_id: _3, turn: _4, parent_tool_call_id: _5, ...body } = event;
  return body as unknown as Omit<E, Envelope>;
}

function push(now: Transcript, event: Event, content: ItemContent): Transcript {
  const item: Item = { seq: event.seq, at: event.at, turn: event.turn, content };
  if (event.parent_tool_call_id != null) item.parent_tool_call_id = event.parent_tool_call_id;
  return { ...now, items: append(now.items, item) };
}

function withContent(now: Transcript, seq: Seq, how: (content: ItemContent) => ItemContent): Transcript {
  return { ...now, items: change(now.items, seq, (item) => ({ ...item, content: how(item.content) })) };
}

function grow(
  now: Transcript,
  event: Event,
  type: "text" | "thinking",
  item_id: ItemId,
  message_id: string | null,
  piece: string,
): Transcript {
  const seq = now.open.texts.get(item_id);
  if (seq !== undefined) {
    return withContent(now, seq, (content) =>
      content.type === "text" || content.type === "thinking" ? { ...content, text: content.text + piece } : content,
    );
  }
  const texts = new Map(now.open.texts).set(item_id, event.seq);
  const content: ItemContent = { type, item_id, message_id, text: piece, outcome: null };
  return push({ ...now, open: { ...now.open, texts } }, event, content);
}

function endText(
  now: Transcript,
  id: ItemId,
  how: (content: Extract<ItemContent, { type: "text" | "thinking" }>) => ItemContent,
): Transcript {
  const seq = now.open.texts.get(id);
  if (seq === undefined) return now;
  const texts = new Map(now.open.texts);
  texts.delete(id);
  return withContent({ ...now, open: { ...now.open, texts } }, seq, (content) =>
    content.type === "text" || content.type === "thinking" ? how(content) : content,
  );
}

function tool(
  now: Transcript,
  event: Event,
  id: ToolCallId,
  name: string,
  how: (tool: ToolItem) => ToolItem,
): Transcript {
  const seq = now.open.tools.get(id);
  if (seq !== undefined) {
    return withContent(now, seq, (content) => (content.type === "tool" ? { ...content, ...how(content) } : content));
  }
  const fresh: ToolItem = {
    tool_call_id: id,
    tool_name: name,
    tool_title: name,
    tool_status: "running",
    bytes: 0,
    normalized: null,
    input: null,
    output: null,
    message: null,
  };
  const tools = new Map(now.open.tools).set(id, event.seq);
  return push({ ...now, open: { ...now.open, tools } }, event, { type: "tool", ...how(fresh) });
}

function updateTool(now: Transcript, update: Extract<Event, { type: "tool_update" }>): Transcript {
  const seq = now.open.tools.get(update.tool_call_id);
  if (seq === undefined) return now;
  let after = now;
  if (update.tool_status !== "running") {
    const tools = new Map(now.open.tools);
    tools.delete(update.tool_call_id);
    after = { ...now, open: { ...now.open, tools } };
  }
  return withContent(after, seq, (content) =>
    content.type === "tool"
      ? {
          ...content,
          tool_status: update.tool_status,
          tool_title: update.tool_title ?? content.tool_title,
          normalized: update.normalized ?? content.normalized,
          output: update.output ?? content.output,
          message: update.message ?? null,
        }
      : content,
  );
}

function endQuestion(now: Transcript, id: PendingId, ending: QuestionEnding): Transcript {
  const pending = now.pending.filter((request) => request.pending_id !== id);
  const seq = now.open.questions.get(id);
  if (seq === undefined) return { ...now, pending };
  const questions = new Map(now.open.questions);
  questions.delete(id);
  return withContent({ ...now, pending, open: { ...now.open, questions } }, seq, (content) =>
    content.type === "question" ? { ...content, ending } : content,
  );
}

/** All tasks that run, and the newest of the others. */
function updateTasks(tasks: readonly Task[], task: Task): Task[] {
  const at = tasks.findLastIndex((known) => known.task_id === task.task_id);
  const after = at >= 0 ? tasks.with(at, task) : [...tasks, task];
  if (after.length > TASKS_AT_MOST) {
    const oldest = after.findIndex((known) => known.status !== "running");
    if (oldest >= 0) after.splice(oldest, 1);
  }
  return after;
}

/** A compaction is one item, from its beginning to its end. */
function compact(now: Transcript, event: Event, compaction: Compaction): Transcript {
  const running = now.open.compaction;
  const known = running !== null && change(now.items, running, (item) => ({ ...item })) !== now.items;
  const goesOn = compaction.status === "running" ? (running ?? event.seq) : null;
  const after = { ...now, open: { ...now.open, compaction: goesOn } };
  const content: ItemContent = { type: "compaction", ...compaction };
  return known ? withContent(after, running, () => content) : push(after, event, content);
}
