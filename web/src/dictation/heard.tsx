// What was heard on a card, and what it would mean: a proposal, which a key confirms.
import { useState } from "react";
import { type SpokenAnswer, spokenAnswer } from "./spoken";
import { type Spoken, useSpoken } from "./use";

/** A card that can be spoken to. */
export interface SpokenCard {
  readonly spoken: Spoken;
  readonly heard: SpokenAnswer | null;
}

/** Listens for a yes or a no; `onDeny` opens the form for the reason, which it gets. */
export function useSpokenCard(onDeny: (reason: string) => void): SpokenCard {
  const [heard, setHeard] = useState<SpokenAnswer | null>(null);
  const spoken = useSpoken((text) => {
    const answer = spokenAnswer(text);
    setHeard(answer);
    if (answer.answer === "deny") onDeny(answer.reason);
    // One key confirms, so the keys must reach the card.
    else spoken.button.current?.closest<HTMLElement>(".card")?.focus({ preventScroll: true });
  });
  return { spoken, heard: spoken.state.at === "idle" ? heard : null };
}

/** What was heard; `allow` says what to press for a yes. */
export function Heard({ heard, allow }: { heard: SpokenAnswer | null; allow: string }) {
  if (heard === null || heard.answer === "deny") return null;
  return (
    <p className={`heard ${heard.answer}`} role="status">
      Heard “{heard.heard.replace(/[.!?]+$/, "")}”.{" "}
      {heard.answer === "allow" ? allow : "Say “allow”, or “deny” and what to do instead."}
    </p>
  );
}
