// The keys of dictation: one to hold while speaking, one to take it back.
//
// They are heard before everything else on the page. The one rule it keeps: while nobody speaks, no key but the one to
// speak with is touched.
import type { Dictator } from "./dictator";
import { isActive } from "./state";

/** A field that can be spoken to. */
export interface SpokenField {
  readonly target: string;
  readonly rank: "first" | "other";
  button(): HTMLElement | null;
}

/** The fields that can be spoken to. */
export class SpokenFields {
  readonly #fields = new Set<SpokenField>();

  /** Adds one; gives what takes it away. */
  add(field: SpokenField): () => void {
    this.#fields.add(field);
    return () => this.#fields.delete(field);
  }

  /** The one nearest to the focus, else the first; only such as have a button just now. */
  near(focus: Element | null): SpokenField | undefined {
    const shown = [...this.#fields].filter((field) => field.button() !== null);
    for (let around = focus; around !== null; around = around.parentElement) {
      const found = shown.find((field) => field.button()?.closest("fieldset, form, .card") === around);
      if (found !== undefined) return found;
    }
    return shown.find((field) => field.rank === "first");
  }
}

/** Follows the keyboard for as long as the page lasts. */
export function followKeys(dictator: Dictator, fields: SpokenFields): void {
  let held = false;
  const release = () => {
    if (held) dictator.stop();
    held = false;
  };
  window.addEventListener(
    "keydown",
    (event) => {
      if (event.key === "Escape" && isActive(dictator.state)) {
        event.preventDefault();
        event.stopPropagation();
        held = false;
        dictator.cancel();
      } else if (isTheKey(event)) {
        if (event.altKey === false || document.querySelector("dialog[open]") !== null) return;
        event.preventDefault();
        event.stopPropagation();
        const field = event.repeat || held ? undefined : fields.near(document.activeElement);
        if (field === undefined) return;
        held = true;
        dictator.begin(field.target);
      }
    },
    true,
  );
  window.addEventListener("keyup", (event) => (isTheKey(event) || event.key === "Alt") && release(), true);
  window.addEventListener("blur", release);
}

/** M with Alt, which on a Mac makes another letter. */
function isTheKey({ key, ctrlKey, metaKey }: KeyboardEvent): boolean {
  return (key === "m" || key === "M" || key === "µ" || key === "Â") && !ctrlKey && !metaKey;
}
