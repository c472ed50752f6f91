// What can be put in while writing: slash commands at the beginning, files of the folder behind an `@`.
import { type RefObject, useEffect, useState } from "react";
import * as api from "../../api";
import type { SessionId } from "../../contract";
import { useOpened } from "../../use";

/** One suggestion: what it puts in, and what it is. */
export interface Suggestion {
  readonly put: string;
  readonly label: string;
  readonly about: string;
}

/** What is being asked for at the caret. */
export interface Wish {
  readonly kind: "command" | "file";
  readonly words: string;
  /** Where in the text it begins. */
  readonly from: number;
}

const AT_MOST = 12;
const NONE: readonly Suggestion[] = [];

/** The wish at a place of a text. */
export function wishAt(text: string, caret: number): Wish | null {
  const before = text.slice(0, caret);
  const command = /^\/(\S*)$/.exec(before);
  if (command) return { kind: "command", words: command[1] ?? "", from: 0 };
  const file = /(?:^|\s)@([^\s@]*)$/.exec(before);
  if (file) return { kind: "file", words: file[1] ?? "", from: caret - (file[1]?.length ?? 0) - 1 };
  return null;
}

/** The suggestions for a wish. */
export function useSuggestions(session: SessionId, wish: Wish | null): readonly Suggestion[] {
  const commands = useOpened(session, (opened) => opened.transcript.commands);
  const [files, setFiles] = useState<{ words: string; found: readonly Suggestion[] }>({ words: "", found: NONE });
  const fileWords = wish?.kind === "file" ? wish.words : null;
  useEffect(() => {
    if (fileWords === null) return;
    let wanted = true;
    const timer = setTimeout(async () => {
      const list = await api.findFiles(session, fileWords).catch(() => null);
      if (!wanted || list === null) return;
      const found = list.entries.slice(0, AT_MOST).map((entry) => ({
        put: `@${entry.path} `,
        label: entry.path,
        about: entry.kind === "folder" ? "folder" : "",
      }));
      setFiles({ words: fileWords, found });
    }, 80);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [session, fileWords]);
  if (wish === null) return NONE;
  if (wish.kind === "file") return files.found;
  const words = wish.words.toLowerCase();
  const all = commands?.available_commands ?? [];
  return all
    .filter(({ name }) => name.toLowerCase().includes(words))
    .sort((a, b) => Number(b.name.startsWith(words)) - Number(a.name.startsWith(words)))
    .slice(0, AT_MOST)
    .map(({ name, description, argument_hint }) => ({
      put: `/${name} `,
      label: `/${name}${argument_hint ? ` ${argument_hint}` : ""}`,
      about: description,
    }));
}

/** The list above the field. */
export function SuggestionList({
  id,
  suggestions,
  at,
  onPick,
  list,
}: {
  id: string;
  suggestions: readonly Suggestion[];
  at: number;
  onPick: (suggestion: Suggestion) => void;
  list: RefObject<HTMLUListElement | null>;
}) {
  return (
    <ul ref={list} id={id} role="listbox" className="suggestions" aria-label="Suggestions">
      {suggestions.map((suggestion, place) => (
        <li
          key={suggestion.label}
          id={`${id}-${place}`}
          role="option"
          aria-selected={place === at}
          onPointerDown={(event) => {
            event.preventDefault();
            onPick(suggestion);
          }}
        >
          <code>{suggestion.label}</code>
          <span className="faint">{suggestion.about}</span>
        </li>
      ))}
    </ul>
  );
}
