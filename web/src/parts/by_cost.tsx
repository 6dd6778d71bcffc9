// Elo of networks by what they cost to make, a curve a run.
import { useMemo } from "preact/hooks";
import type { Rated } from "../types";
import { Chart } from "./chart";

const UNITS = ["GPU-hours", "core-hours"];

/** In the unit that the newest network of the first run has. */
export function ByCost({ runs }: { runs: { name: string; rated: Rated[] }[] }) {
  const { x, curves, unit } = useMemo(() => {
    const newest = runs.find((run) => run.rated.length > 0)?.rated.at(-1);
    const unit = UNITS.find((name) => costOf(newest, name) !== null) ?? UNITS[1]!;
    const points = runs.map((run) => new Map(run.rated.map((one) => [costOf(one, unit), one])));
    const x = [...new Set(points.flatMap((run) => [...run.keys()]))].filter((at) => at !== null).sort((a, b) => a - b);
    const curves = points.flatMap((run, nth) => {
      const column = (name: "elo" | "elo_low" | "elo_high") => x.map((at) => run.get(at)?.[name] ?? null);
      return run.size ? [{ label: runs[nth]!.name, values: column("elo"), low: column("elo_low"), high: column("elo_high") }] : [];
    });
    return { x, curves, unit };
  }, runs.flatMap((run) => [run.name, run.rated]));
  if (x.length === 0) return null;
  return <Chart title="Elo by cost" x={x} xName={unit} curves={curves} height={240} logarithmic />;
}

/** What a network cost, above 0; null where that is not known. */
function costOf(one: Rated | undefined, unit: string): number | null {
  const cost = one?.cost?.[unit];
  return typeof cost === "number" && cost > 0 ? cost : null;
}
