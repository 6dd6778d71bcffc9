// Several runs on the same axes, and the settings in which they differ.
import { useMemo } from "preact/hooks";
import { useTurn } from "../api";
import { AxisChoice, axisOf, type Axis } from "../parts/axis_choice";
import { ByCost } from "../parts/by_cost";
import { Chart, type Curve } from "../parts/chart";
import { Empty } from "../parts/empty";
import { FactsOf } from "../parts/facts";
import { axisOfValues, useCharts } from "../parts/measured";
import { Settings } from "../parts/settings";
import { go, link, usePlace, type Place } from "../router";
import { useAll } from "../many";
import { seriesPath, Table } from "../series";
import { useTopic } from "../stream";
import type { Columns, Rated, RunLine } from "../types";
import { xOf } from "./training";

const MOST_RUNS = 6;
const NONE: Rated[] = [];
const KINDS = ["learn", "eval", "load", "play"] as const;
type Kind = (typeof KINDS)[number];
type RunSeries = { id: string; name: string } & Record<Kind, Table>;

export function Compare() {
  const place = usePlace();
  const runs = useTopic<RunLine[]>("runs").value;
  const chosen = (place.query.get("runs") ?? "").split(",").filter(Boolean);
  if (!runs) return <p class="muted">Reading the runs …</p>;
  if (runs.length < 2) {
    return <Empty title="Compare needs two runs" command="vecchess dash runs/first runs/second" />;
  }
  const asked = place.query.has("runs") ? chosen : firstPairOf(runs).map((run) => run.id);
  const there = asked.filter((id) => runs.some((run) => run.id === id)).slice(0, MOST_RUNS);
  return (
    <>
      <h1>Compare runs</h1>
      <Chooser runs={runs} chosen={there} place={place} />
      {there.length < 2 ? (
        <Empty title="Choose two runs or more">Up to {MOST_RUNS} are drawn on the same axes.</Empty>
      ) : (
        <Comparison runs={runs.filter((run) => there.includes(run.id))} place={place} />
      )}
    </>
  );
}

/** The first two runs of one kind that have played or learned: others share few curves. */
function firstPairOf(runs: RunLine[]): RunLine[] {
  const begun = runs.filter((run) => run.recorded > 0 || run.iteration > 0);
  for (const run of begun) {
    const alike = begun.filter((other) => other.kind === run.kind);
    if (alike.length > 1) return alike.slice(0, 2);
  }
  return runs.slice(0, 2);
}

function Chooser({ runs, chosen, place }: { runs: RunLine[]; chosen: string[]; place: Place }) {
  const turn = (id: string) => {
    const now = chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id];
    go(link(["compare"], { runs: now.join(","), x: axisOf(place) }), true);
  };
  return (
    <fieldset class="panel chooser">
      <legend>Runs</legend>
      {runs.map((run) => (
        <label key={run.id}>
          <input type="checkbox" checked={chosen.includes(run.id)} disabled={!chosen.includes(run.id) && chosen.length >= MOST_RUNS} onChange={() => turn(run.id)} />
          {run.name}
        </label>
      ))}
    </fieldset>
  );
}

function Comparison({ runs, place }: { runs: RunLine[]; place: Place }) {
  const paths = runs.flatMap((run) => KINDS.map((kind) => seriesPath(run.id, kind)));
  const turn = useTurn(runs);
  const asked = useAll<Columns>(paths, turn);
  const costs = useAll<Rated[]>(runs.map((run) => `/api/runs/${run.id}/costs`), turn);
  const specs = useCharts();
  const isTraining = runs.some((run) => run.kind === "train");
  const axis = axisOf(place, isTraining);
  const series = useMemo(
    () =>
      runs.map((run, nth) => {
        const tables = KINDS.map((kind, k) => [kind, new Table(asked[nth * KINDS.length + k]?.columns ?? {})]);
        return { id: run.id, name: run.name, ...(Object.fromEntries(tables) as Record<Kind, Table>) };
      }),
    [asked, runs.map((run) => run.id).join()],
  );
  const areRead = asked.length > 0;
  const share = KINDS.some((kind) => series.filter((run) => run[kind].length > 0).length > 1);
  return (
    <>
      {areRead && !share && <p class="muted">These runs have no curve in common: choose runs of one kind.</p>}
      {isTraining && <AxisChoice place={place} />}
      {isTraining && axis !== "time" && runs.some((run) => run.kind !== "train") && (
        <p class="muted">Self-play counts neither samples nor iterations: its curves are drawn by time only.</p>
      )}
      <div class="charts">
        <Drawn title="Score of the first pairing" runs={series} kind="eval" column="score" axis={axis} share only={firstPair} />
        {specs.map((spec) => (
          <Drawn key={spec.key} title={spec.curves.length > 1 ? `${spec.title}: ${spec.curves[0]![1]}` : spec.title} runs={series} kind={spec.kind} column={spec.curves[0]![0]} axis={axis} {...axisOfValues(spec)} />
        ))}
        <Drawn title="Mean length of games" runs={series} kind="play" column="mean_length" axis={axis} from={0} />
      </div>
      <ByCost runs={runs.map((run, nth) => ({ name: run.name, rated: costs[nth] ?? NONE }))} />
      <FactsOf runs={runs} />
      <Settings runs={runs.map((run) => ({ id: run.id, name: run.name }))} />
    </>
  );
}

/** Lines of the pair of players that was played first: mostly the policy against random. */
function firstPair(table: Table): boolean[] {
  const pairs = table.values<string>("player").map((player, row) => `${player}|${table.values<string>("opponent")[row]}`);
  return pairs.map((pair) => pair === pairs[0]);
}

interface DrawnProps {
  title: string;
  runs: RunSeries[];
  kind: Kind;
  column: string;
  axis: Axis;
  share?: boolean;
  from?: number;
  to?: number;
  only?: (table: Table) => boolean[];
}

/** Places of lines on the axis; time counts from the run's first line, in seconds. None where the run lacks it. */
function placed(table: Table, axis: Axis): (number | null)[] {
  const { x } = xOf(table, axis);
  if (axis === "time") return x.map((time) => time - (x[0] ?? 0));
  return x.some((at) => at >= 1) ? x : x.map(() => null);
}

/** The unit in which so many seconds are read best: its name, and its seconds. */
function unitOf(seconds: number): [string, number] {
  if (seconds < 300) return ["seconds", 1];
  return seconds < 3 * 3600 ? ["minutes", 60] : ["hours", 3600];
}

function Drawn(props: DrawnProps) {
  const { x, curves, xName } = useMemo(() => {
    const points = props.runs.map((run) => {
      const table = run[props.kind];
      const keep = props.only?.(table);
      const values = table.numbers(props.column);
      const found = placed(table, props.axis).map((at, row) => [at, keep && !keep[row] ? null : values[row]] as const);
      return new Map(found.filter((point): point is readonly [number, number] => point[0] != null && point[1] != null));
    });
    const x = [...new Set(points.flatMap((run) => [...run.keys()]))].sort((a, b) => a - b);
    const curves: Curve[] = points.map((run, nth) => ({ label: props.runs[nth]!.name, values: x.map((at) => run.get(at) ?? null) }));
    const there = curves.filter((curve) => curve.values.some((value) => value !== null));
    if (props.axis !== "time") return { x, curves: there, xName: props.axis };
    const [xName, size] = unitOf(x.at(-1) ?? 0);
    return { x: x.map((at) => at / size), curves: there, xName };
  }, [props.runs, props.axis]);
  if (!curves.some((curve) => curve.values.some((value) => value !== 0))) return null;
  return <Chart title={props.title} x={x} xName={xName} curves={curves} height={190} share={props.share ?? false} {...(props.from === undefined ? {} : { from: props.from })} {...(props.to === undefined ? {} : { to: props.to })} />;
}
