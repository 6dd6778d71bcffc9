// How a network learns: losses, spikes layer by layer, and how good its early answers are.
import { useMemo } from "preact/hooks";
import { amount } from "../format";
import { AxisChoice, axisOf, type Axis } from "../parts/axis_choice";
import { Chart } from "../parts/chart";
import { Empty } from "../parts/empty";
import { HeatMap } from "../parts/heat_map";
import { Measured } from "../parts/measured";
import { sample } from "../parts/figures";
import { usePlace } from "../router";
import { useSeries, type Lines } from "../series";
import type { Run } from "../types";

const NUM_HEAT_COLUMNS = 300;

/** The x of each line: samples learnt, seconds since 1970, or the iteration with its part that is done. */
export function xOf(lines: Lines, axis: Axis): { x: number[]; xName: string } {
  const name = axis === "time" ? "time_unix" : axis;
  const x = lines.numbers(name).map((value) => value ?? 0);
  return { x: axis === "iteration" ? spread(x) : x, xName: axis };
}

/** Lines of one iteration lie side by side: 3, 3, 3 becomes 3, 3.33, 3.67. */
function spread(x: number[]): number[] {
  const count = new Map<number, number>();
  for (const value of x) count.set(value, (count.get(value) ?? 0) + 1);
  const seen = new Map<number, number>();
  return x.map((value) => {
    const before = seen.get(value) ?? 0;
    seen.set(value, before + 1);
    return value + before / count.get(value)!;
  });
}

export function Training({ run }: { run: Run }) {
  const place = usePlace();
  const isLive = !run.status.is_over;
  const lines = useSeries(run.id, "learn", isLive);
  const examined = useSeries(run.id, "examine", isLive);
  const axis = axisOf(place);
  const { x, xName } = useMemo(() => xOf(lines, axis), [lines, axis]);
  if (lines.length === 0) {
    if (lines.isLoading) return <p class="muted">Reading the measurements …</p>;
    return (
      <Empty title={run.status.kind === "train" ? "Nothing was learnt yet" : "Self-play does not learn"} command="vecchess train">
        {run.status.kind === "train"
          ? "The first figures come after the first games of the first iteration."
          : "Losses, spikes and accuracy are those of a training. Start one:"}
      </Empty>
    );
  }
  return (
    <>
      <AxisChoice place={place} />
      <Measured kind="learn" lines={lines} x={x} xName={xName} />
      <Spikes lines={lines} />
      {examined.length > 0 && <Examined lines={examined} />}
    </>
  );
}

function Spikes({ lines }: { lines: Lines }) {
  const map = useMemo(() => {
    const all = lines.values<Record<string, number>>("spikes");
    const there = all.flatMap((spikes, index) => (spikes ? [index] : []));
    const chosen = sample(there.length, NUM_HEAT_COLUMNS).map((at) => there[at]!);
    const rows = Object.keys(all[chosen.at(-1) ?? 0] ?? {});
    const columns = chosen.map((index) => rows.map((name) => all[index]?.[name] ?? null));
    return { rows, columns, iterations: chosen.map((index) => lines.numbers("iteration")[index]), steps: chosen.map((index) => lines.numbers("step")[index]) };
  }, [lines]);
  if (map.rows.length === 0) return null;
  return (
    <HeatMap
      title="Spike rate by layer, from the input (top) to the heads, over the training"
      rows={map.rows}
      columns={map.columns}
      columnName={(index) => `iteration ${map.iterations[index]}, update ${amount(map.steps[index])}`}
    />
  );
}

const EXAMINED: [name: string, title: string, share: boolean][] = [
  ["cross_entropy", "Cross-entropy after each time step", false],
  ["top1", "Right move first after each time step", true],
  ["value_error", "Value error after each time step", false],
];
const NUM_EXAMINED = 4;

/** How good the answer is after 1, 2, ... T time steps: now, and at some earlier times. */
function Examined({ lines }: { lines: Lines }) {
  const rows = sample(lines.length, NUM_EXAMINED);
  return (
    <div class="charts">
      {EXAMINED.map(([name, title, share]) => {
        const all = lines.values<number[]>(name);
        const curves = rows.flatMap((row, nth) => {
          const values = all[row];
          return Array.isArray(values) ? [{ label: `iteration ${lines.numbers("iteration")[row]}`, values, hue: rows.length - nth }] : [];
        });
        const steps = Math.max(0, ...curves.map((curve) => curve.values.length));
        if (steps === 0) return null;
        const x = Array.from({ length: steps }, (_, index) => index + 1);
        return <Chart key={name} title={title} x={x} xName="time step" curves={curves} height={150} share={share} />;
      })}
    </div>
  );
}
