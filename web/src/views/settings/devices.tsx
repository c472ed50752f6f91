// Other devices: a link that works once, as a picture that a phone can read.
import { useState } from "react";
import { encode } from "uqr";
import { forgetKey } from "../../access";
import * as api from "../../api";
import { CopyButton } from "../../text/code";

/** A new link, and the way out. */
export function Devices() {
  const [link, setLink] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const make = async () => {
    setProblem(null);
    try {
      setLink((await api.ticket()).link);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const loopback = /^(localhost|127\.|\[::1\])/.test(location.hostname);
  return (
    <section>
      <h2>Another tab or device</h2>
      <p className="faint">A link works once and for a minute. Whoever opens it may do what you may do.</p>
      <button type="button" className="primary" onClick={() => void make()}>
        Make a link
      </button>
      {problem !== null && <p className="bad">{problem}</p>}
      {link !== null && (
        <div className="link">
          <QrCode text={link} />
          <p>
            <code>{link}</code> <CopyButton text={link} label="Copy the link" />
          </p>
        </div>
      )}
      {loopback && (
        <p className="faint">
          This host listens on this machine only. Another device reaches it through a tunnel, for example{" "}
          <code>ssh -L</code>.
        </p>
      )}
      <h2>This tab</h2>
      <button
        type="button"
        onClick={async () => {
          await api.logout().catch(() => undefined);
          forgetKey();
          location.assign("/");
        }}
      >
        Log out
      </button>
    </section>
  );
}

function QrCode({ text }: { text: string }) {
  const { data, size } = encode(text, { border: 2 });
  const path = data.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : []))).join("");
  return (
    <svg
      className="qr"
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label="The link as a QR code"
      shapeRendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
