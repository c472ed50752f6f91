// Other devices: those that were let in, and a link for another one, as a picture that a phone can read.
import { Monitor, Smartphone } from "lucide-react";
import { useCallback, useEffect, useState } from "react";
import { encode } from "uqr";
import { forgetKey } from "../../access";
import * as api from "../../api";
import type { Scope } from "../../contract";
import { at } from "../../place";
import { CopyButton } from "../../text/code";
import { ago } from "../../text/format";
import { useNow } from "../../ui/time";

/** What a device may do, in words. */
export const SCOPES: ReadonlyArray<readonly [Scope, string, string]> = [
  ["view", "look", "read every conversation, change nothing"],
  ["answer", "look, prompt and answer", "use sessions, answer questions, read files"],
  ["admin", "do everything", "also begin sessions, set rules and let others in"],
];

/** The devices, a new link, and the way out. */
export function Devices() {
  const [devices, setDevices] = useState<readonly api.Device[] | Error | null>(null);
  const load = useCallback(() => {
    api.devices().then(setDevices, setDevices);
  }, []);
  useEffect(load, [load]);
  return (
    <>
      <NewLink onMade={load} />
      <section>
        <h2>Devices that are let in</h2>
        {devices === null ? (
          <p className="faint">Loading …</p>
        ) : devices instanceof Error ? (
          <p className="bad">{devices.message}</p>
        ) : (
          <ul className="devices">
            {devices.map((device) => (
              <DeviceRow key={device.id} device={device} onGone={load} />
            ))}
          </ul>
        )}
      </section>
      <section>
        <h2>This tab</h2>
        <button
          type="button"
          onClick={async () => {
            await api.logout().catch(() => undefined);
            forgetKey();
            location.assign(at("/"));
          }}
        >
          Log out
        </button>
      </section>
    </>
  );
}

function DeviceRow({ device, onGone }: { device: api.Device; onGone: () => void }) {
  const now = useNow(30_000);
  const [problem, setProblem] = useState<string | null>(null);
  const Icon = device.scope === "admin" ? Monitor : Smartphone;
  const seen = ago(device.last_seen, now);
  return (
    <li>
      <Icon size={18} aria-hidden />
      <div>
        <strong>{device.name ?? "a browser"}</strong> {device.current && <span className="tag">this one</span>}
        <p className="faint">
          may {SCOPES.find(([scope]) => scope === device.scope)?.[1]} ·{" "}
          {seen === "now" ? "here now" : `seen ${seen} ago`} · let in {new Date(device.created).toLocaleDateString()}
        </p>
        {problem !== null && <p className="bad">{problem}</p>}
      </div>
      {!device.current && (
        <button
          type="button"
          className="quiet"
          aria-label={`Let in no more: ${device.name ?? "a browser"}`}
          onClick={() => api.revoke(device.id).then(onGone, (error: Error) => setProblem(error.message))}
        >
          Let in no more
        </button>
      )}
    </li>
  );
}

function NewLink({ onMade }: { onMade: () => void }) {
  const [scope, setScope] = useState<Scope>("answer");
  const [name, setName] = useState("");
  const [made, setMade] = useState<{ link: string; for: number; until: number } | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const now = useNow(1000);
  const left = made === null ? 0 : Math.max(0, Math.min(made.for, Math.ceil((made.until - now) / 1000)));
  const make = async () => {
    setProblem(null);
    try {
      const { link, expires_in } = await api.ticket(scope, name.trim());
      setMade({ link, for: expires_in, until: Date.now() + expires_in * 1000 });
    } catch (error) {
      setMade(null);
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  // Whoever opened the link is in the list as soon as it is over.
  const over = made !== null && left === 0;
  useEffect(() => {
    if (over) onMade();
  }, [over, onMade]);
  const loopback = /^(localhost|127\.|\[::1\])/.test(location.hostname);
  return (
    <section>
      <h2>Let another device in</h2>
      <p className="faint">A link works once and for a minute. Open it there, or read the picture with its camera.</p>
      <form
        className="new-link"
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <label className="field">
          <span>What it is called</span>
          <input value={name} maxLength={80} placeholder="phone" onChange={(event) => setName(event.target.value)} />
        </label>
        <label className="field">
          <span>What it may do</span>
          <select value={scope} onChange={(event) => setScope(event.target.value as Scope)}>
            {SCOPES.map(([each, label, about]) => (
              <option key={each} value={each} title={about}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" className="primary">
          Make a link
        </button>
      </form>
      <p className="faint">It could {SCOPES.find(([each]) => each === scope)?.[2]}.</p>
      {problem !== null && <p className="bad">{problem}</p>}
      {made !== null &&
        (left > 0 ? (
          <div className="link">
            <QrCode text={made.link} />
            <p>
              <code>{made.link}</code> <CopyButton text={made.link} label="Copy the link" />
            </p>
            <p className="faint">good for {left} s</p>
          </div>
        ) : (
          <p className="faint">The link is too old by now.</p>
        ))}
      {loopback && (
        <p className="faint">
          This page is open on the host’s own machine. Another device reaches it through a tunnel (for example{" "}
          <code>ssh -L</code>), or when the host listens beyond loopback (<code>server.listen</code>).
        </p>
      )}
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
