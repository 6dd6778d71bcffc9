// How the games of a run ended, how long they were, how many time steps they took.
import { useMemo } from "preact/hooks";
import { amount, percent, words } from "../format";
import { Bars } from "../parts/bars";
import { Chart } from "../parts/chart";
import { Columns } from "../parts/columns";
import { Empty } from "../parts/empty";
import { useSeries, type Lines } from "../series";
import type { Run, Stats } from "../types";

const DECISIVE = new Set(["checkmate", "resignation"]);

export function Results({ run }: { run: Run }) {
  const played = useSeries(run.id, "play", !run.status.is_over);
  const { stats } = run;
  if (stats.games === 0) {
    return (
      <Empty title="No game is recorded yet">
        Finished games are recorded every half a minute, or when 1,024 of them are there.
      </Empty>
    );
  }
  const steps = single(stats.time_steps); // none of searched positions, and of games from elsewhere
  return (
    <>
      <Outcome stats={stats} />
      {!run.status.is_over && <p class="muted small">Counted when they are recorded: every half a minute, or when 1,024 finished games are there.</p>}
      <div class="columns">
        <Bars title="How games ended" nameOf="ending" unit="games" bars={sorted(stats.terminations)} />
        <Columns title="Length of games" xName="plies" unit="games" bins={binned(stats.lengths, 32)} />
        {steps.length > 0 && <Columns title="Time steps a position" xName="time steps" unit="positions" bins={steps} />}
        {played.length > 1 && <OverTime lines={played} />}
      </div>
    </>
  );
}

function Outcome({ stats }: { stats: Stats }) {
  const parts: [string, string, number][] = [
    ["White won", "white", stats.white_wins],
    ["drawn", "draw", stats.draws],
    ["Black won", "black", stats.black_wins],
  ];
  const wrong = stats.resign_checks > 0 ? `; ${stats.resign_false_positives} of ${stats.resign_checks} checked resignations were wrong` : "";
  return (
    <section class="panel">
      <h2>
        {amount(stats.games)} recorded games, {amount(stats.plies / stats.games)} plies on average
      </h2>
      <div class="outcome" aria-hidden="true">
        {parts.map(([name, kind, count]) => (
          <span key={name} class={kind} style={{ flexGrow: count }} />
        ))}
      </div>
      <p class="row figures">
        {parts.map(([name, kind, count]) => (
          <span key={name}>
            <i class={`swatch ${kind}`} aria-hidden="true" /> {name} <b>{amount(count)}</b> ({percent(count / stats.games, 1)})
          </span>
        ))}
        <span class="muted">{wrong.slice(2)}</span>
      </p>
    </section>
  );
}

function OverTime({ lines }: { lines: Lines }) {
  const { x, curves } = useMemo(() => {
    const counts = ["white_wins", "draws", "black_wins"].map((name) => lines.numbers(name));
    const share = (which: number) => counts[which]!.map((value, row) => (value ?? 0) / (counts.reduce((sum, column) => sum + (column[row] ?? 0), 0) || 1));
    return {
      x: lines.numbers("iteration").map((value) => value ?? 0),
      curves: [
        { label: "White", values: share(0) },
        { label: "draws", values: share(1) },
        { label: "Black", values: share(2) },
      ],
    };
  }, [lines]);
  const lengths = useMemo(() => [{ label: "plies", values: lines.numbers("mean_length") }], [lines]);
  return (
    <>
      <Chart title="Results by iteration" x={x} xName="iteration" curves={curves} from={0} to={1} height={200} share />
      {lines.has("mean_length") && <Chart title="Mean length by iteration" x={x} xName="iteration" curves={lengths} from={0} height={200} />}
    </>
  );
}

function sorted(counts: Record<string, number>) {
  return Object.entries(counts)
    .sort((a, b) => b[1] - a[1])
    .map(([name, count]) => ({ name: words(name), count, hue: DECISIVE.has(name) ? 1 : 6 }));
}

/** Bins of a width, those without any between the first and the last too. */
function binned(counts: Record<string, number>, width: number) {
  const top = Math.max(0, ...Object.keys(counts).map(Number));
  return Array.from({ length: top / width + 1 }, (_, at) => ({ name: `${at * width}–${(at + 1) * width - 1}`, short: String(at * width), count: counts[String(at * width)] ?? 0 }));
}

function single(counts: Record<string, number>) {
  const top = Math.max(0, ...Object.keys(counts).map(Number));
  return Array.from({ length: top }, (_, at) => ({ name: String(at + 1), short: String(at + 1), count: counts[String(at + 1)] ?? 0 }));
}
