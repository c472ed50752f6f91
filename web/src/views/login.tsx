// What is seen without a way in: how to get one.
import { useState } from "react";
import type { NoAccess } from "../access";
import { at } from "../place";

/** Says how to get in. */
export function Login({ why }: { why: NoAccess }) {
  const [link, setLink] = useState("");
  return (
    <main className="login">
      <img src={at("/icon.svg")} alt="" width={56} height={56} />
      <h1>Jackfield</h1>
      <p>{WHY[why]}</p>
      {why === "no host" ? (
        <button type="button" className="primary" onClick={() => location.reload()}>
          Try again
        </button>
      ) : (
        <>
          <p>
            In a terminal on the host’s machine, <code>jackfield serve</code> prints a link that works once.
          </p>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              const ticket = /(?:ticket=)?([\w-]{16,})\s*$/.exec(link)?.[1];
              if (ticket === undefined) return;
              location.hash = `ticket=${ticket}`;
              location.reload();
            }}
          >
            <label className="field">
              <span>Or paste it here</span>
              <input
                value={link}
                autoComplete="off"
                spellCheck={false}
                onChange={(event) => setLink(event.target.value)}
              />
            </label>
            <button type="submit" className="primary" disabled={link.trim() === ""}>
              Go in
            </button>
          </form>
        </>
      )}
    </main>
  );
}

const WHY: Record<NoAccess, string> = {
  "no ticket": "This tab has no key to the host.",
  "ticket refused": "The link was used before, or is too old. Each works once, for a minute.",
  "no host": "The host cannot be reached. Is it running?",
};
