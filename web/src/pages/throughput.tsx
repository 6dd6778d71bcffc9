// How fast a run is, and what limits it, over time.
import { Chart, type Curve } from "../parts/chart";
import { Empty } from "../parts/empty";
import { Workers } from "../parts/workers";
import { Notes } from "../parts/notes";
import { useSeries, type Lines } from "../series";
import type { Run } from "../types";

interface Wanted {
  title: string;
  columns: [name: string, label: string][];
  share?: boolean;
}

const CHARTS: Wanted[] = [
  { title: "Plies and evaluations a second", columns: [["plies_per_s", "plies/s"], ["evals_per_s", "evaluations/s"]] },
  { title: "Games a second", columns: [["games_per_s", "games/s"]] },
  { title: "Simulations a second", columns: [["sims_per_s", "simulations/s"]] },
  { title: "Busy", columns: [["device_busy", "network"], ["host_busy", "loop"], ["mover_busy", "movers"], ["gpu_util", "GPU"]], share: true },
  { title: "Batch fill", columns: [["batch_fill", "slots taken"], ["full_batches", "full batches"]], share: true },
  { title: "Time steps a position", columns: [["mean_time_steps", "mean"]] },
  { title: "Queue age, 99th percentile, ms", columns: [["queue_age_p99_ms", "ms"]] },
  { title: "Evaluations known to the cache", columns: [["cache_hit_rate", "hits"]], share: true },
  { title: "Memory of games and trees, MB", columns: [["games_mb", "MB"]] },
  { title: "GPU memory, MB", columns: [["gpu_memory_mb", "MB"]] },
  { title: "GPU power, W", columns: [["gpu_power_w", "W"]] },
];

export function Throughput({ run }: { run: Run }) {
  const lines = useSeries(run.id, "load", !run.status.is_over);
  const isEmpty = lines.length === 0 && !lines.isLoading;
  return (
    <>
      {isEmpty && run.status.workers.length === 0 && (
        <Empty title="No speeds were measured">They are noted every 5 s while games are played.</Empty>
      )}
      {lines.length > 0 && (
        <div class="charts">
          {CHARTS.map((wanted) => (
            <LoadChart key={wanted.title} wanted={wanted} lines={lines} />
          ))}
        </div>
      )}
      <Workers workers={run.status.workers} machines={run.status.machines} />
      <Notes notes={run.status.notes} machines={run.status.machines} />
    </>
  );
}

function LoadChart({ wanted, lines }: { wanted: Wanted; lines: Lines }) {
  const there = wanted.columns.filter(([name]) => lines.numbers(name).some((value) => value !== null && value !== 0));
  if (there.length === 0) return null;
  const curves: Curve[] = there.map(([name, label]) => ({ label, values: lines.numbers(name) }));
  const x = lines.numbers("time_unix") as number[];
  return (
    <Chart
      title={wanted.title}
      x={x}
      xName="time"
      curves={curves}
      from={0}
      group="load"
      height={150}
      {...(wanted.share ? { share: true, to: 1 } : {})}
    />
  );
}
