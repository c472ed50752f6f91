// A text that a person must be able to trust: characters that hide or reorder others are shown by their names.
import { memo } from "react";
import { pieces } from "./suspicious";

/** The text, with what is hidden in it made visible. */
export const Shown = memo(function Shown({ text }: { text: string }) {
  const found = pieces(text);
  if (found.every((piece) => piece.hidden === null)) return text;
  return found.map((piece, at) =>
    piece.hidden === null ? (
      piece.text
    ) : (
      <span key={`${at}${piece.hidden}`} className="hidden-character" title="a character that is not seen">
        {piece.hidden}
      </span>
    ),
  );
});
