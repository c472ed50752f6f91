// What was spent, as a plot: per day, model or session.
import { useEffect, useState } from "react";
import * as api from "../../api";
import type { CostRow, Costs as CostTable } from "../../contract";
import { dollars, duration, tokens } from "../../text/format";
import { useKnown } from "../../use";
import { modelLabel } from "../composer/modes";

type By = "day" | "model" | "session";

/** The plot and its figures. */
export function Costs() {
  const [by, setBy] = useState<By>("day");
  const [costs, setCosts] = useState<CostTable | Error | null>(null);
  const sessions = useKnown((known) => known.sessions);
  useEffect(() => {
    let wanted = true;
    const told = (value: CostTable | Error) => wanted && setCosts(value);
    api.costs(by).then(told, told);
    return () => {
      wanted = false;
    };
  }, [by]);
  const label = (group: string) =>
    by === "model" ? modelLabel(group) : by === "session" ? (sessions.get(group)?.title ?? group.slice(0, 8)) : group;
  return (
    <section>
      <h2>Costs</h2>
      <div className="segments" role="group" aria-label="By">
        {(["day", "model", "session"] as const).map((each) => (
          <button key={each} type="button" aria-pressed={each === by} onClick={() => setBy(each)}>
            by {each}
          </button>
        ))}
      </div>
      {costs === null ? (
        <p className="faint">Counting …</p>
      ) : costs instanceof Error ? (
        <p className="bad">{costs.message}</p>
      ) : costs.rows.length === 0 ? (
        <p className="faint">Nothing was spent yet.</p>
      ) : (
        <>
          <dl className="figures">
            <Figure name="in all" value={dollars(costs.total.cost_usd)} />
            <Figure name="turns" value={String(costs.total.turns)} />
            <Figure
              name="tokens in"
              value={tokens(
                costs.total.input_tokens + costs.total.cache_read_tokens + costs.total.cache_creation_tokens,
              )}
            />
            <Figure name="tokens out" value={tokens(costs.total.output_tokens)} />
            <Figure name="time" value={duration(costs.total.duration_ms)} />
          </dl>
          {by === "day" ? <Days rows={costs.rows} /> : <Bars rows={costs.rows} label={label} />}
        </>
      )}
    </section>
  );
}

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

// Drawn narrower where it is shown narrower, so that its letters stay readable.
const WIDTH = matchMedia("(max-width: 760px)").matches ? 380 : 720;
const [HEIGHT, FOOT, SIDE] = [220, 22, 44];

/** One column per day, also for days without a turn, the last 30 at most. */
function Days({ rows }: { rows: readonly CostRow[] }) {
  const days = withEveryDay(rows).slice(-30);
  const most = Math.max(...days.map((day) => day.cost_usd), 0.0001);
  const step = Math.min(64, (WIDTH - SIDE) / days.length);
  const [shown, setShown] = useState<CostRow | null>(null);
  const y = (cost: number) => (HEIGHT - FOOT) * (1 - cost / most);
  return (
    <figure className="plot">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`Costs of ${days.length} days, at most ${dollars(most)} a day`}
      >
        {[0, 0.5, 1].map((share) => (
          <g key={share}>
            <line x1={SIDE} x2={WIDTH} y1={y(most * share)} y2={y(most * share)} className="grid" />
            <text x={SIDE - 6} y={y(most * share) + (share === 1 ? 10 : 4)} textAnchor="end">
              {dollars(most * share)}
            </text>
          </g>
        ))}
        {days.map((day, at) => (
          <g key={day.group} onPointerEnter={() => setShown(day)} onPointerLeave={() => setShown(null)}>
            <rect x={SIDE + at * step} y={0} width={step} height={HEIGHT - FOOT} className="touch" />
            <rect
              x={SIDE + at * step + step * 0.15}
              y={y(day.cost_usd)}
              width={step * 0.7}
              height={Math.max(0, HEIGHT - FOOT - y(day.cost_usd))}
              rx={2}
              className="bar"
            />
            {(days.length <= 10 || at % Math.ceil(days.length / 8) === 0) && (
              <text x={SIDE + at * step + step / 2} y={HEIGHT - 6} textAnchor="middle">
                {day.group.slice(5)}
              </text>
            )}
          </g>
        ))}
      </svg>
      <figcaption className="faint" aria-live="polite">
        {shown === null
          ? "Per day, in UTC."
          : `${shown.group}: ${dollars(shown.cost_usd)}, ${shown.turns} turns, ${tokens(shown.output_tokens)} tokens written`}
      </figcaption>
    </figure>
  );
}

/** One bar per group, the largest first. */
function Bars({ rows, label }: { rows: readonly CostRow[]; label: (group: string) => string }) {
  const ordered = [...rows].sort((a, b) => b.cost_usd - a.cost_usd).slice(0, 30);
  const most = Math.max(...ordered.map((row) => row.cost_usd), 0.0001);
  return (
    <ul className="bars">
      {ordered.map((row) => (
        <li key={row.group}>
          <span className="bar-name">{label(row.group)}</span>
          <span className="bar-track">
            <span className="bar-fill" style={{ width: `${(row.cost_usd / most) * 100}%` }} />
          </span>
          <span className="bar-value">
            {dollars(row.cost_usd)} <span className="faint">{row.turns} turns</span>
          </span>
        </li>
      ))}
    </ul>
  );
}

function withEveryDay(rows: readonly CostRow[]): CostRow[] {
  const known = new Map(rows.map((row) => [row.group, row]));
  const days = [...known.keys()].sort();
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return [];
  const all: CostRow[] = [];
  const end = Date.parse(last);
  for (let at = Math.max(Date.parse(first), end - 29 * 86_400_000); at <= end; at += 86_400_000) {
    const group = new Date(at).toISOString().slice(0, 10);
    all.push(
      known.get(group) ?? {
        group,
        turns: 0,
        cost_usd: 0,
        input_tokens: 0,
        output_tokens: 0,
        cache_read_tokens: 0,
        cache_creation_tokens: 0,
        duration_ms: 0,
      },
    );
  }
  return all;
}
