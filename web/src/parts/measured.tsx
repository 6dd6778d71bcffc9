// The charts of one kind of measurements, by the list that the server has of them.
import { useGet } from "../api";
import type { Lines } from "../series";
import type { ChartSpec } from "../types";
import { Chart, type Curve } from "./chart";

/** All charts that there are, and what they draw. */
export function useCharts(): ChartSpec[] {
  return useGet<ChartSpec[]>("/api/charts").value ?? [];
}

export function Measured(props: { kind: ChartSpec["kind"]; lines: Lines; x: number[]; xName: string }) {
  const specs = useCharts().filter((spec) => spec.kind === props.kind);
  return (
    <div class="charts dense">
      {specs.map((spec) => {
        const curves = curvesOf(spec, props.lines);
        if (curves.length === 0) return null;
        return <Chart key={spec.key} title={spec.title} x={props.x} xName={props.xName} curves={curves} group={props.kind} height={150} {...axisOfValues(spec)} />;
      })}
    </div>
  );
}

/** How the axis of values is drawn; all load that is a share goes up to 1. */
export function axisOfValues(spec: ChartSpec): { share?: boolean; from?: number; to?: number } {
  return {
    ...(spec.share ? { share: true } : {}),
    ...(spec.from_zero ? { from: 0 } : {}),
    ...(spec.share && spec.kind === "load" ? { to: 1 } : {}),
  };
}

/** The curves with figures; load that is 0 all the time has none. */
function curvesOf(spec: ChartSpec, lines: Lines): Curve[] {
  const all = spec.curves.map(([name, label]) => ({ label, values: lines.numbers(name) }));
  return all.filter(({ values }) => values.some((value) => value !== null && (spec.kind === "learn" || value !== 0)));
}
