// The keys, listed.
import { Dialog } from "../ui/dialog";

const KEYS: ReadonlyArray<readonly [string, ReadonlyArray<readonly [string, string]>]> = [
  [
    "Writing",
    [
      ["Enter", "send; while a turn runs, join it"],
      ["Alt Enter", "queue: after this turn"],
      ["Ctrl Enter", "stop this turn and send"],
      ["Shift Enter", "a new line"],
      ["/", "go to the prompt; commands"],
      ["@", "files of the folder"],
      ["↑ ↓", "earlier prompts"],
      ["Alt M", "hold to dictate; Esc takes it back"],
    ],
  ],
  [
    "The session",
    [
      ["Esc", "stop the running turn"],
      ["Esc Esc", "rewind to the last prompt"],
      ["Shift Tab", "next mode: ask, act, plan"],
      ["Alt ↑ ↓", "the session above or below"],
    ],
  ],
  [
    "The desk",
    [
      ["Enter", "allow, accept, answer"],
      ["A", "remember it as well"],
      ["D", "deny, with a reason"],
      ["E", "edit what will run"],
      ["1 … 9", "choose an option"],
    ],
  ],
  [
    "Everywhere",
    [
      ["Ctrl K", "find sessions and actions"],
      ["Ctrl Shift O", "new session"],
      ["?", "these keys"],
    ],
  ],
];

/** The dialog. */
export function KeysDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose} width="wide">
      <div className="keys">
        {KEYS.map(([part, keys]) => (
          <section key={part}>
            <h3>{part}</h3>
            <dl>
              {keys.map(([key, about]) => (
                <div key={key}>
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd>{about}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
