// The contract as the page uses it: the generated types, and names for the parts of their unions.
export * from "./jackfield";

import type { Command, Event, ItemContent, Normalized, ServerFrame } from "./jackfield";

/** An event of one type. */
export type EventOf<T extends Event["type"]> = Extract<Event, { type: T }>;
/** The content of an item of one type. */
export type ContentOf<T extends ItemContent["type"]> = Extract<ItemContent, { type: T }>;
/** A tool call of one kind. */
export type NormalizedOf<K extends Normalized["kind"]> = Extract<Normalized, { kind: K }>;
/** A frame of the server of one type. */
export type FrameOf<T extends ServerFrame["type"]> = Extract<ServerFrame, { type: T }>;
/** A command of one type. */
export type CommandOf<T extends Command["type"]> = Extract<Command, { type: T }>;
