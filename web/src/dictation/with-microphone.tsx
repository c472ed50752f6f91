// A field of a form with a microphone beside it: what is said goes to where its cursor is.
import type { ReactNode, RefObject } from "react";
import { MicrophoneButton } from "./microphone-button";
import { DictationPanel } from "./panel";
import { insertSpoken } from "./spoken";
import { useSpoken } from "./use";

/** The field, its microphone, and what is heard. `onText` gets the whole text with the words in it. */
export function WithMicrophone({
  field,
  label,
  onText,
  children,
}: {
  field: RefObject<HTMLTextAreaElement | HTMLInputElement | null>;
  label: string;
  onText: (text: string, words: string) => void;
  children: ReactNode;
}) {
  const spoken = useSpoken((words) => {
    const element = field.current;
    if (element === null) return;
    const { value, selectionStart, selectionEnd } = element;
    const { text, caret } = insertSpoken(value, selectionStart ?? value.length, selectionEnd ?? value.length, words);
    onText(text, words);
    element.focus();
    requestAnimationFrame(() => element.setSelectionRange(caret, caret));
  });
  return (
    <>
      <div className="with-microphone">
        {children}
        <MicrophoneButton spoken={spoken} label={label} />
      </div>
      <DictationPanel spoken={spoken} />
    </>
  );
}
