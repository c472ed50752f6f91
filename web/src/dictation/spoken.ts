// What becomes of spoken words: a place in a text, an answer on the desk, a choice.
//
// Recognisers mishear. The one rule it keeps: nothing here decides anything; it proposes, and a yes is proposed only
// where nothing else was said.

/** A text, and where the cursor is in it. */
export interface Placed {
  readonly text: string;
  readonly caret: number;
}

/** Spoken words in a text: in place of what is selected, with a space where words would touch. */
export function insertSpoken(text: string, from: number, to: number, spoken: string): Placed {
  const [before, behind] = [text.slice(0, from), text.slice(to)];
  const words = spoken.trim();
  if (words === "") return { text, caret: to };
  const head = before === "" || /\s$/.test(before) ? before : `${before} `;
  const space = behind === "" || /^[\s.,;:!?)\]}]/.test(behind) ? "" : " ";
  return { text: head + words + space + behind, caret: head.length + words.length };
}

/** What was answered, as far as it can be told. */
export type SpokenAnswer =
  | { readonly answer: "allow"; readonly heard: string }
  | { readonly answer: "deny"; readonly heard: string; readonly reason: string }
  | { readonly answer: "unclear"; readonly heard: string };

/** The only utterances that are a yes, each as a whole. */
const YES: ReadonlySet<string> = new Set([
  "accept",
  "accept it",
  "allow",
  "allow it",
  "allow that",
  "allow this",
  "approve",
  "approve it",
  "approve that",
  "approve this",
  "approved",
  "go ahead",
  "ok",
  "okay",
  "yes",
  "yes allow it",
  "yes approve it",
  "yes go ahead",
  "yes please",
]);

/** What a no begins with. */
const NO = /^(?:do not allow|don['’]t allow|den(?:y|ied)|reject(?:ed)?|refuse|decline|nope|no)\b/i;
/** What is a no and its reason in one, so that no word of it may be left out. */
const DO_NOT = /^(?:do not|don['’]t)\b/i;

/** What a person said to a question that wants a yes or a no. */
export function spokenAnswer(text: string): SpokenAnswer {
  const heard = text.trim();
  const plain = heard
    .toLowerCase()
    .replace(/[.,;:!?"“”]+/g, " ")
    .replace(/\s+/g, " ")
    .trim();
  if (YES.has(plain)) return { answer: "allow", heard };
  const no = NO.exec(heard);
  if (no === null) return DO_NOT.test(heard) ? { answer: "deny", heard, reason: heard } : { answer: "unclear", heard };
  const rest = heard.slice(no[0].length).replace(/^[\s.,;:!?–—-]+/, "");
  const reason = /^(?:it|that|this|thanks|thank you)?[\s.!]*$/i.test(rest) ? "" : rest;
  return { answer: "deny", heard, reason: reason.replace(/^(?:it|that|this)[\s.,;:–—-]+(?=\S)/i, "") };
}

const NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];

/** The option that was named, by its words or its number; null if it is none of them. */
export function spokenChoice(text: string, labels: readonly string[]): string | null {
  const said = plainly(text);
  const named = labels.find((label) => plainly(label) === said);
  if (named !== undefined) return named;
  const number = /^(?:option |number |the )?(\w+)$/.exec(said)?.[1] ?? "";
  const at = /^[1-9]$/.test(number) ? Number(number) - 1 : NUMBERS.indexOf(number);
  return labels[at] ?? null;
}

function plainly(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}
