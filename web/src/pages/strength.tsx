// How strong the networks of a run are: scores against fixed opponents, ratings, gates.
import { useMemo } from "preact/hooks";
import { useGet } from "../api";
import { amount } from "../format";
import { ByCost } from "../parts/by_cost";
import { Chart, type Curve } from "../parts/chart";
import { Empty } from "../parts/empty";
import { GateTable, MatchTable } from "../parts/match_tables";
import { useSeries, type Lines } from "../series";
import type { Rated, Run } from "../types";

export function Strength({ run }: { run: Run }) {
  const isLive = !run.status.is_over;
  const matches = useSeries(run.id, "eval", isLive);
  const gates = useSeries(run.id, "gate", isLive);
  const rated = useGet<Rated[]>(`/api/runs/${run.id}/elo`, run.rated_unix);
  const costs = useGet<Rated[]>(`/api/runs/${run.id}/costs`, run.rated_unix);
  const nothing = matches.length === 0 && gates.length === 0 && (rated.value ?? []).length === 0 && (costs.value ?? []).length === 0;
  if (nothing && matches.isLoading) return <p class="muted">Reading the matches …</p>;
  if (nothing) {
    return (
      <Empty title="No match was played yet" command={run.rating_command}>
        A training plays matches every few iterations (--eval-every).{run.rating_command && " What a run made is rated by:"}
      </Empty>
    );
  }
  return (
    <>
      <div class="charts wide">
        {matches.length > 0 && <Scores lines={matches} />}
        {rated.value && rated.value.length > 0 && <Ratings rated={rated.value} />}
        <ByCost runs={[{ name: "Elo", rated: costs.value ?? [] }]} />
      </div>
      {matches.length > 0 && <MatchTable lines={matches} />}
      {gates.length > 0 && <GateTable lines={gates} />}
    </>
  );
}

/** A curve of scores for each player and opponent, on the iterations at which any was played. */
export function scoreCurves(lines: Lines): { x: number[]; curves: Curve[] } {
  const iterations = lines.numbers("iteration").map((value) => value ?? 0);
  const names = iterations.map((_, row) => `${lines.values<string>("player")[row]} against ${lines.values<string>("opponent")[row]}`);
  const x = [...new Set(iterations)].sort((a, b) => a - b);
  const [scores, intervals] = [lines.numbers("score"), lines.values<[number, number]>("score_interval")];
  const curves = [...new Set(names)].map((label) => {
    const at = new Map(iterations.flatMap((iteration, row) => (names[row] === label ? [[iteration, row] as const] : [])));
    const column = (of: (row: number) => number | null | undefined) => x.map((value) => (at.has(value) ? (of(at.get(value)!) ?? null) : null));
    return {
      label,
      values: column((row) => scores[row]),
      low: column((row) => intervals[row]?.[0]),
      high: column((row) => intervals[row]?.[1]),
    };
  });
  return { x, curves };
}

function Scores({ lines }: { lines: Lines }) {
  const { x, curves } = useMemo(() => scoreCurves(lines), [lines]);
  return <Chart title="Score with its 95 % interval" x={x} xName="iteration" curves={curves} from={0} to={1} height={240} share />;
}

function Ratings({ rated }: { rated: Rated[] }) {
  const { x, curves } = useMemo(() => {
    const order = [...rated].sort((a, b) => a.samples - b.samples);
    const column = (name: "elo" | "elo_low" | "elo_high") => order.map((point) => point[name] ?? null);
    return {
      x: order.map((point) => point.samples ?? 0),
      curves: [{ label: "Elo", values: column("elo"), low: column("elo_low"), high: column("elo_high") }],
    };
  }, [rated]);
  return <Chart title="Elo of the run's networks with 95 % intervals" x={x} xName="samples" curves={curves} height={240} format={(value) => amount(value === null ? null : Math.round(value))} />;
}
