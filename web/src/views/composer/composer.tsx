// Where prompts are written.
//
// Enter sends (on a phone it makes a line; a button sends), Shift+Enter makes a line. While a turn runs, a prompt
// joins it, waits for its end or stops it, as the person says. The one rule it keeps: what was written is gone only
// when the host has it.
import { ArrowUp, ChevronDown, CircleStop, ImagePlus, X } from "lucide-react";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import type { Content, Priority, SessionId } from "../../contract";
import { MicrophoneButton } from "../../dictation/microphone-button";
import { DictationPanel } from "../../dictation/panel";
import { insertSpoken } from "../../dictation/spoken";
import { useSpoken } from "../../dictation/use";
import { find } from "../../transcript/items";
import { Menu } from "../../ui/menu";
import { store, useKnown, useOpened, useSummary } from "../../use";
import { draftOf, dropDraft, putDraft, useDraft } from "./draft";
import { contentOf, type Picture, readPictures } from "./pictures";
import { QueueList } from "./queue";
import { type Suggestion, SuggestionList, useSuggestions, wishAt } from "./suggestions";
import { ContextGauge, Switches } from "./switches";

/** The composer of a session. */
export function Composer({ session }: { session: SessionId }) {
  const draft = useDraft(session);
  const [pictures, setPictures] = useState<readonly Picture[]>([]);
  const [sending, setSending] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const [caret, setCaret] = useState(0);
  const [picked, setPicked] = useState(0);
  const [closed, setClosed] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const files = useRef<HTMLInputElement>(null);
  const listName = useId();
  const running = useOpened(session, (opened) => opened.transcript.state === "running");
  const offline = useKnown((known) => known.link.state !== "online");
  const archived = useSummary(session)?.archived ?? false;
  const wish = closed ? null : wishAt(draft.text, caret);
  const suggestions = useSuggestions(session, wish);
  const walk = useHistory(session);
  useGrowing(field, draft.text);
  useEffect(() => {
    // Behind a dialog that is just closing and gives the focus back.
    const timer = setTimeout(() => {
      if (!isTouch() && document.querySelector("dialog[open], .desk .card") === null) field.current?.focus();
    }, 50);
    return () => clearTimeout(timer);
  }, []);
  useEffect(() => setPicked(0), [wish?.words, wish?.kind]);
  useEffect(() => {
    list.current?.children[picked]?.scrollIntoView({ block: "nearest" });
  }, [picked]);

  const put = (text: string, at = text.length) => {
    putDraft(session, text);
    requestAnimationFrame(() => {
      field.current?.setSelectionRange(at, at);
      setCaret(at);
    });
  };
  const spoken = useSpoken((words) => {
    const { text: written } = draftOf(session);
    const { selectionStart = written.length, selectionEnd = written.length } = field.current ?? {};
    const { text, caret } = insertSpoken(written, selectionStart, selectionEnd, words);
    setClosed(true);
    put(text, caret);
    if (!isTouch()) field.current?.focus();
  }, "first");
  const pick = (suggestion: Suggestion) => {
    if (wish === null) return;
    const text = draft.text.slice(0, wish.from) + suggestion.put + draft.text.slice(caret).replace(/^\s/, "");
    put(text, wish.from + suggestion.put.length);
    field.current?.focus();
  };
  const send = async (priority: Priority) => {
    const sent = draftOf(session);
    const text = sent.text.trim();
    if (sending || (text === "" && pictures.length === 0)) return;
    const content: Content[] = pictures.map(contentOf);
    if (text !== "") content.push({ type: "text", text });
    setSending(true);
    setRefusal(null);
    const command = { type: "prompt", uuid: sent.prompt, content, priority } as const;
    const outcome = await store.command(command, session, sent.command);
    setSending(false);
    if ("reply" in outcome) {
      // Whoever says something wants to see what comes of it.
      window.dispatchEvent(new CustomEvent("jackfield:follow"));
      dropDraft(session, sent);
      for (const picture of pictures) URL.revokeObjectURL(picture.address);
      setPictures([]);
    } else {
      // What was written is still there, and so is why.
      setRefusal(outcome.rejection.reason);
    }
  };
  const add = async (given: Iterable<File>) => {
    try {
      const read = await readPictures(given, pictures);
      setPictures((before) => [...before, ...read]);
    } catch (error) {
      store.tell(error instanceof Error ? error.message : String(error));
    }
  };
  const onKeyDown = (event: React.KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    if (suggestions.length > 0) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step !== undefined) {
        event.preventDefault();
        setPicked((picked + step + suggestions.length) % suggestions.length);
        return;
      }
      const suggestion = suggestions[picked];
      const whole = suggestion !== undefined && suggestion.put.trim() === draft.text.trim();
      if (suggestion !== undefined && (event.key === "Tab" || (event.key === "Enter" && !whole)) && !event.shiftKey) {
        event.preventDefault();
        pick(suggestion);
        return;
      }
      if (event.key === "Escape") {
        event.preventDefault();
        event.stopPropagation();
        setClosed(true);
        return;
      }
    }
    if (event.key === "Enter" && !event.shiftKey && !isTouch()) {
      event.preventDefault();
      const urgent = event.ctrlKey || event.metaKey;
      void send(!running ? "next" : urgent ? "now" : event.altKey ? "later" : "next");
    } else if (event.key === "ArrowUp" && caret === 0) {
      const earlier = walk.back();
      if (earlier !== null) put(earlier, 0);
    } else if (event.key === "ArrowDown" && caret === draft.text.length && walk.walking()) {
      put(walk.forth() ?? "");
    }
  };

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send("next");
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void add(event.dataTransfer.files);
      }}
    >
      <QueueList session={session} />
      {suggestions.length > 0 && (
        <SuggestionList id={listName} list={list} suggestions={suggestions} at={picked} onPick={pick} />
      )}
      <div className="composer-box">
        {pictures.length > 0 && (
          <div className="previews">
            {pictures.map((picture) => (
              <figure key={picture.id}>
                <img src={picture.address} alt={picture.name} />
                <button
                  type="button"
                  className="icon"
                  aria-label={`Leave out ${picture.name}`}
                  onClick={() => setPictures(pictures.filter((each) => each !== picture))}
                >
                  <X size={12} />
                </button>
              </figure>
            ))}
          </div>
        )}
        <textarea
          ref={field}
          className="composer-field"
          rows={1}
          value={draft.text}
          aria-label="Prompt"
          role="combobox"
          aria-expanded={suggestions.length > 0}
          aria-controls={suggestions.length > 0 ? listName : undefined}
          aria-activedescendant={suggestions.length > 0 ? `${listName}-${picked}` : undefined}
          aria-autocomplete="list"
          placeholder={
            archived
              ? "This session is archived"
              : running
                ? "Say something to the running turn"
                : isNarrow()
                  ? "Ask; / for commands, @ for files"
                  : "Ask, or type / for commands and @ for files"
          }
          onChange={(event) => {
            setClosed(false);
            setRefusal(null);
            walk.end();
            setCaret(event.target.selectionStart);
            putDraft(session, event.target.value);
          }}
          onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
          onKeyDown={onKeyDown}
          onPaste={(event) => {
            if (event.clipboardData.files.length === 0) return;
            event.preventDefault();
            void add(event.clipboardData.files);
          }}
        />
        <DictationPanel spoken={spoken} />
        <div className="composer-foot">
          <Switches session={session} />
          <ContextGauge session={session} />
          <span className="space" />
          <input
            ref={files}
            type="file"
            accept="image/*"
            multiple
            hidden
            onChange={(event) => void add(event.target.files ?? [])}
          />
          <button
            type="button"
            className="quiet icon"
            aria-label="Add pictures"
            title="Add pictures"
            onClick={() => files.current?.click()}
          >
            <ImagePlus size={17} />
          </button>
          <MicrophoneButton spoken={spoken} label="Dictate" />
          {running && (
            <button
              type="button"
              className="stop"
              aria-label="Stop this turn"
              title="Stop this turn (Esc)"
              onClick={() => store.ask({ type: "interrupt" }, session)}
            >
              <CircleStop size={17} /> Stop
            </button>
          )}
          {running && (
            <Menu
              label="How to send"
              entries={[
                { label: "Send: joins this turn", hint: "↵", run: () => void send("next") },
                { label: "Queue: after this turn", hint: "Alt ↵", run: () => void send("later") },
                { label: "Stop this turn and send", hint: "Ctrl ↵", run: () => void send("now") },
              ]}
            >
              <ChevronDown size={16} />
            </Menu>
          )}
          <button
            type="submit"
            className="primary icon send"
            aria-label={offline ? "Send as soon as the host is there" : "Send"}
            title="Send"
            disabled={sending || (draft.text.trim() === "" && pictures.length === 0)}
          >
            <ArrowUp size={18} />
          </button>
        </div>
      </div>
      {refusal !== null && (
        <p className="refusal" role="alert">
          {refusal}
        </p>
      )}
      {sending && offline && <p className="faint">It is sent as soon as the host is there again.</p>}
    </form>
  );
}

/** A field that is as high as its text. */
function useGrowing(field: React.RefObject<HTMLTextAreaElement | null>, text: string): void {
  useLayoutEffect(() => {
    const element = field.current;
    if (element === null) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight, innerHeight * 0.4)}px`;
  }, [field, text]);
}

/** Walks through the prompts of the session, newest first. */
function useHistory(session: SessionId) {
  const at = useRef<number | null>(null);
  const own = useRef("");
  const prompts = () => {
    const { timeline, transcript } = store.opened(session);
    return timeline.prompts.flatMap((seq) => {
      const content = find(transcript.items, seq)?.content;
      return content?.type === "user_message" ? [content.text] : [];
    });
  };
  return {
    walking: () => at.current !== null,
    end: () => {
      at.current = null;
    },
    back: (): string | null => {
      const all = prompts();
      if (at.current === null) own.current = draftOf(session).text;
      const next = (at.current ?? all.length) - 1;
      if (next < 0) return null;
      at.current = next;
      return all[next] ?? null;
    },
    forth: (): string | null => {
      const all = prompts();
      if (at.current === null) return null;
      const next = at.current + 1;
      at.current = next < all.length ? next : null;
      return at.current === null ? own.current : (all[next] ?? null);
    },
  };
}

function isNarrow(): boolean {
  return matchMedia("(max-width: 760px)").matches;
}

function isTouch(): boolean {
  return matchMedia("(pointer: coarse) and (hover: none)").matches;
}
