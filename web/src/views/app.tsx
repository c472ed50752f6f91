// The page as a whole: getting in, then everything else.
import { useEffect, useState } from "react";
import { enter, forgetKey, type NoAccess } from "../access";
import { RequestFailed } from "../api";
import { watchSessions } from "../attention";
import { store, useKnown } from "../use";
import { Login } from "./login";
import { Shell } from "./shell";

/** Everything. */
export function App() {
  const [access, setAccess] = useState<NoAccess | "entering" | "in">("entering");
  const refused = useKnown((known) => known.link.state === "refused");
  // A browser does not say why a socket was not opened; whether the key is still good must be asked.
  const attempt = useKnown((known) => (known.link.state === "offline" ? known.link.attempt : 0));
  useEffect(() => {
    if (attempt >= 2) checkKey(() => setAccess("no ticket"));
  }, [attempt]);
  useEffect(() => {
    enter().then((refusal) => {
      setAccess(refusal ?? "in");
      if (refusal !== null) return;
      store.connection.start();
      checkKey(() => setAccess("no ticket"));
    });
    const nudge = () => {
      if (!document.hidden) store.connection.nudge();
    };
    document.addEventListener("visibilitychange", nudge);
    window.addEventListener("online", nudge);
    const unwatch = watchSessions();
    return () => {
      document.removeEventListener("visibilitychange", nudge);
      window.removeEventListener("online", nudge);
      unwatch();
      store.connection.stop();
    };
  }, []);
  if (access === "entering") return null;
  if (access !== "in" || refused) return <Login why={access === "in" ? "ticket refused" : access} />;
  return <Shell />;
}

/** Asks the host something that needs a key; forgets the key if it is not good. */
function checkKey(onBad: () => void): void {
  store.loadSettings().catch((error) => {
    if (!(error instanceof RequestFailed) || error.status !== 401) return;
    forgetKey();
    store.connection.stop();
    onBad();
  });
}
