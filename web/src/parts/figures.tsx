// The figures of a chart as a table: for screen readers, and to read exact numbers.
import { useState } from "preact/hooks";
import { amount, moment } from "../format";
import type { Curve } from "./chart";

interface FiguresProps {
  title: string;
  x: number[];
  xName: string;
  curves: Curve[];
  format: (value: number | null) => string;
}

const NUM_ROWS = 24;

/** Numbers below `count`, so many at most, evenly, the last among them. */
export function sample(count: number, most: number): number[] {
  if (count <= most) return Array.from({ length: count }, (_, i) => i);
  return Array.from({ length: most }, (_, i) => Math.round((i * (count - 1)) / (most - 1)));
}

export function Figures(props: FiguresProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="figures-of" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        Figures<span class="hidden"> of {props.title}</span>
      </summary>
      {isOpen && (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">{props.xName}</th>
                {props.curves.map((curve) => (
                  <th scope="col" key={curve.label}>{curve.label}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {sample(props.x.length, NUM_ROWS).map((row) => (
                <tr key={row}>
                  <th scope="row">{props.xName === "time" ? moment(props.x[row]) : amount(props.x[row])}</th>
                  {props.curves.map((curve) => (
                    <td key={curve.label}>{cell(curve, row, props.format)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}

function cell(curve: Curve, row: number, format: (value: number | null) => string): string {
  const value = format(curve.values[row] ?? null);
  if (!curve.low || !curve.high) return value;
  return `${value} [${format(curve.low[row] ?? null)}, ${format(curve.high[row] ?? null)}]`;
}
