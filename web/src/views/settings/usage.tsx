// What was used, as a plot: per day with its models one upon the other, per model, per session; money or tokens.
import { useEffect, useMemo, useState } from "react";
import * as api from "../../api";
import type { CostRow, Costs as CostTable } from "../../contract";
import { dollars, duration, several, tokens } from "../../text/format";
import { useKnown } from "../../use";
import { modelLabel } from "../composer/modes";

type By = "day" | "model" | "session";
type Measure = "money" | "tokens";

/** So many days are shown at most, and at least. */
const [DAYS, FEW_DAYS] = [30, 14];
const DAY_MS = 86_400_000;
/** So many models have a colour of their own; the others share the last. */
const COLOURS = 6;

/** The plot and its figures. */
export function Usage() {
  const [by, setBy] = useState<By>("day");
  const [measure, setMeasure] = useState<Measure>("money");
  const [costs, setCosts] = useState<CostTable | Error | null>(null);
  const sessions = useKnown((known) => known.sessions);
  useEffect(() => {
    let wanted = true;
    const told = (value: CostTable | Error) => wanted && setCosts(value);
    setCosts(null);
    api.costs(by === "day" ? "day_model" : by).then(told, told);
    return () => {
      wanted = false;
    };
  }, [by]);
  const label = (group: string) =>
    by === "model"
      ? modelLabel(group) || "no model"
      : by === "session"
        ? (sessions.get(group)?.title ?? group.slice(0, 8))
        : group;
  return (
    <section>
      <h2>Usage</h2>
      <div className="filters">
        <div className="segments" role="group" aria-label="By">
          {(["day", "model", "session"] as const).map((each) => (
            <button key={each} type="button" aria-pressed={each === by} onClick={() => setBy(each)}>
              by {each}
            </button>
          ))}
        </div>
        <div className="segments" role="group" aria-label="What is counted">
          {(["money", "tokens"] as const).map((each) => (
            <button key={each} type="button" aria-pressed={each === measure} onClick={() => setMeasure(each)}>
              {each}
            </button>
          ))}
        </div>
      </div>
      {costs === null ? (
        <p className="faint">Counting …</p>
      ) : costs instanceof Error ? (
        <p className="bad">{costs.message}</p>
      ) : costs.rows.length === 0 ? (
        <p className="faint">Nothing was used yet.</p>
      ) : (
        <>
          <dl className="figures">
            <Figure name="in all" value={dollars(costs.total.cost_usd)} />
            <Figure name="turns" value={String(costs.total.turns)} />
            <Figure name="tokens in" value={tokens(tokensIn(costs.total))} />
            <Figure name="tokens out" value={tokens(costs.total.output_tokens)} />
            <Figure name="time" value={duration(costs.total.duration_ms)} />
          </dl>
          {by === "day" ? (
            <Days rows={costs.rows} measure={measure} />
          ) : (
            <Bars rows={costs.rows} measure={measure} label={label} />
          )}
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

function tokensIn(row: CostRow): number {
  return row.input_tokens + row.cache_read_tokens + row.cache_creation_tokens;
}

function amountOf(row: CostRow, measure: Measure): number {
  return measure === "money" ? row.cost_usd : tokensIn(row) + row.output_tokens;
}

function words(value: number, measure: Measure): string {
  return measure === "money" ? dollars(value) : tokens(value);
}

/** One day with its models, the dearest of all days first. */
interface Day {
  readonly day: string;
  readonly parts: readonly { readonly colour: number; readonly row: CostRow }[];
}

// Drawn narrower where it is shown narrower, so that its letters stay readable.
const WIDTH = matchMedia("(max-width: 760px)").matches ? 380 : 720;
const [HEIGHT, FOOT, SIDE] = [240, 22, 48];

/** One column per day, also for days without a turn, with its models one upon the other. */
function Days({ rows, measure }: { rows: readonly CostRow[]; measure: Measure }) {
  const models = useMemo(() => dearestFirst(rows), [rows]);
  const days = useMemo(() => everyDay(rows, models), [rows, models]);
  const [shown, setShown] = useState<Day | null>(null);
  const of = (day: Day) => day.parts.reduce((sum, part) => sum + amountOf(part.row, measure), 0);
  const most = Math.max(...days.map(of), measure === "money" ? 0.0001 : 1);
  const step = Math.min(64, (WIDTH - SIDE) / days.length);
  const y = (value: number) => (HEIGHT - FOOT) * (1 - value / most);
  return (
    <figure className="plot">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`${measure === "money" ? "Costs" : "Tokens"} of ${several(days.length, "day")}, at most ${words(most, measure)} a day`}
      >
        {[0, 0.5, 1].map((share) => (
          <g key={share}>
            <line x1={SIDE} x2={WIDTH} y1={y(most * share)} y2={y(most * share)} className="grid" />
            <text x={SIDE - 6} y={y(most * share) + (share === 1 ? 10 : 4)} textAnchor="end">
              {words(most * share, measure)}
            </text>
          </g>
        ))}
        {days.map((day, at) => {
          let below = 0;
          return (
            <g key={day.day} onPointerEnter={() => setShown(day)} onPointerLeave={() => setShown(null)}>
              <rect x={SIDE + at * step} y={0} width={step} height={HEIGHT - FOOT} className="touch" />
              {day.parts.map(({ colour, row }) => {
                const value = amountOf(row, measure);
                below += value;
                return (
                  <rect
                    key={row.model ?? ""}
                    x={SIDE + at * step + step * 0.15}
                    y={y(below)}
                    width={step * 0.7}
                    height={Math.max(0, y(below - value) - y(below))}
                    className={`bar colour-${colour}`}
                  />
                );
              })}
              {(days.length <= 10 || at % Math.ceil(days.length / 8) === 0) && (
                <text x={SIDE + at * step + step / 2} y={HEIGHT - 6} textAnchor="middle">
                  {day.day.slice(5)}
                </text>
              )}
            </g>
          );
        })}
      </svg>
      <ul className="legend">
        {models.slice(0, COLOURS).map((model, colour) => (
          <li key={model}>
            <span className={`swatch colour-${colour}`} aria-hidden />
            {colour === COLOURS - 1 && models.length > COLOURS ? "others" : modelLabel(model) || "no model"}
          </li>
        ))}
      </ul>
      <figcaption className="faint" aria-live="polite">
        {shown === null
          ? "Per day, in UTC."
          : `${shown.day}: ${words(of(shown), measure)}${shown.parts
              .map(
                ({ row }) => `, ${modelLabel(row.model ?? "") || "no model"} ${words(amountOf(row, measure), measure)}`,
              )
              .join("")}`}
      </figcaption>
    </figure>
  );
}

/** One bar per group, the largest first. */
function Bars({
  rows,
  measure,
  label,
}: {
  rows: readonly CostRow[];
  measure: Measure;
  label: (group: string) => string;
}) {
  const ordered = [...rows].sort((a, b) => amountOf(b, measure) - amountOf(a, measure)).slice(0, 30);
  const most = Math.max(...ordered.map((row) => amountOf(row, measure)), 0.0001);
  return (
    <ul className="bars">
      {ordered.map((row) => (
        <li key={row.group}>
          <span className="bar-name">{label(row.group)}</span>
          <span className="bar-track">
            <span className="bar-fill" style={{ width: `${(amountOf(row, measure) / most) * 100}%` }} />
          </span>
          <span className="bar-value">
            {words(amountOf(row, measure), measure)} <span className="faint">{several(row.turns, "turn")}</span>
          </span>
        </li>
      ))}
    </ul>
  );
}

function dearestFirst(rows: readonly CostRow[]): string[] {
  const sums = new Map<string, number>();
  for (const row of rows) sums.set(row.model ?? "", (sums.get(row.model ?? "") ?? 0) + row.cost_usd);
  return [...sums].sort((a, b) => b[1] - a[1]).map(([model]) => model);
}

function everyDay(rows: readonly CostRow[], models: readonly string[]): Day[] {
  const days = rows.map((row) => row.group).sort();
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return [];
  const all: Day[] = [];
  const end = Date.parse(last);
  const begin = Math.min(Date.parse(first), end - (FEW_DAYS - 1) * DAY_MS);
  for (let at = Math.max(begin, end - (DAYS - 1) * DAY_MS); at <= end; at += DAY_MS) {
    const day = new Date(at).toISOString().slice(0, 10);
    const parts = rows
      .filter((row) => row.group === day)
      .map((row) => ({ row, place: models.indexOf(row.model ?? "") }))
      .sort((a, b) => a.place - b.place)
      .map(({ row, place }) => ({ row, colour: Math.min(place, COLOURS - 1) }));
    all.push({ day, parts });
  }
  return all;
}
