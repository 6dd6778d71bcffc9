// How fast a run is, and what limits it, over time.
import { Empty } from "../parts/empty";
import { Measured } from "../parts/measured";
import { Notes } from "../parts/notes";
import { Workers } from "../parts/workers";
import { useSeries } from "../series";
import type { Run } from "../types";

export function Throughput({ run }: { run: Run }) {
  const lines = useSeries(run.id, "load", !run.status.is_over);
  const isEmpty = lines.length === 0 && !lines.isLoading;
  return (
    <>
      {isEmpty && run.status.workers.length === 0 && (
        <Empty title="No speeds were measured">They are noted every 5 s while games are played.</Empty>
      )}
      {lines.length > 0 && <Measured kind="load" lines={lines} x={lines.numbers("time_unix") as number[]} xName="time" />}
      <Workers workers={run.status.workers} />
      <Notes notes={run.status.notes} />
    </>
  );
}
