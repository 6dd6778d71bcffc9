// Rates by layer over time: a row a layer, a column a moment. Arrow keys read it cell by cell.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { percent } from "../format";
import { colour, useTheme } from "../theme";

export interface HeatMapProps {
  title: string;
  rows: string[];
  /** Values by column, then row. */
  columns: (number | null)[][];
  columnName: (index: number) => string;
}

const ROW_PX = 17;

export function HeatMap(props: HeatMapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const [at, setAt] = useState<[number, number] | null>(null);
  const [width, setWidth] = useState(0);
  const top = useMemo(() => Math.max(0.01, ...props.columns.flat().map((value) => value ?? 0)), [props.columns]);
  useEffect(() => {
    const watcher = new ResizeObserver(() => setWidth(canvas.current?.clientWidth ?? 0));
    watcher.observe(canvas.current!);
    return () => watcher.disconnect();
  }, []);
  useEffect(() => paint(canvas.current!, props, top, at), [props.columns, props.rows, theme, width, at, top]);
  const last = props.columns.length - 1;
  const [column, row] = at ?? [last, 0];
  const cell = (x: number, y: number): [number, number] => [
    Math.min(Math.max(x, 0), last),
    Math.min(Math.max(y, 0), props.rows.length - 1),
  ];
  const byPointer = (event: PointerEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    setAt(cell(Math.floor(share * props.columns.length), Math.floor((event.clientY - box.top) / ROW_PX)));
  };
  const byKey = (event: KeyboardEvent) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    setAt(cell(column + step[0]!, row + step[1]!));
  };
  const said = at ? `${props.rows[row]}, ${props.columnName(column)}: ${percent(props.columns[column]?.[row], 1)}` : "";
  return (
    <figure class="panel heat">
      <figcaption>
        <h3>{props.title}</h3>
        <Scale top={top} />
      </figcaption>
      <div class="heat-body">
        <ul aria-hidden="true" style={{ lineHeight: `${ROW_PX}px` }}>
          {props.rows.map((name) => (
            <li key={name}>{name}</li>
          ))}
        </ul>
        <canvas
          ref={canvas}
          style={{ height: `${ROW_PX * props.rows.length}px` }}
          tabIndex={0}
          role="application"
          aria-label={`${props.title}. Arrow keys read it cell by cell.`}
          onPointerMove={byPointer}
          onPointerLeave={() => setAt(null)}
          onKeyDown={byKey}
        />
      </div>
      <p class="muted small figures heat-said" role="status">{said || "Point at a cell, or use the arrow keys, to read it."}</p>
      <NewestRates rows={props.rows} values={props.columns[last] ?? []} title={props.title} />
    </figure>
  );
}

function Scale({ top }: { top: number }) {
  return (
    <div class="scale figures">
      0 %<span class="ramp" role="img" aria-label={`Colours from 0 to ${percent(top, 1)}`} />
      {percent(top, 1)}
    </div>
  );
}

function NewestRates(props: { rows: string[]; values: (number | null)[]; title: string }) {
  return (
    <details class="figures-of">
      <summary>
        Figures<span class="hidden"> of {props.title}</span>
      </summary>
      <table>
        <thead>
          <tr>
            <th scope="col">layer</th>
            <th scope="col">now</th>
          </tr>
        </thead>
        <tbody>
          {props.rows.map((name, index) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{percent(props.values[index], 1)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function paint(canvas: HTMLCanvasElement, props: HeatMapProps, top: number, at: [number, number] | null): void {
  const [wide, high] = [canvas.clientWidth, ROW_PX * props.rows.length];
  if (wide === 0 || props.columns.length === 0) return;
  canvas.width = wide * devicePixelRatio;
  canvas.height = high * devicePixelRatio;
  const pen = canvas.getContext("2d")!;
  pen.scale(devicePixelRatio, devicePixelRatio);
  const [low, full] = [rgb(colour("heat-0")), rgb(colour("heat-1"))];
  const step = wide / props.columns.length;
  for (const [x, values] of props.columns.entries()) {
    for (const [y, value] of values.entries()) {
      pen.fillStyle = value === null ? colour("line") : mix(low, full, value / top);
      pen.fillRect(Math.floor(x * step), y * ROW_PX, Math.ceil(step) + 0.5, ROW_PX - 1);
    }
  }
  if (at) {
    pen.strokeStyle = colour("series-2");
    pen.lineWidth = 2;
    pen.strokeRect(Math.floor(at[0] * step), at[1] * ROW_PX, Math.max(step, 3), ROW_PX - 1);
  }
}

function rgb(hex: string): number[] {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

function mix(low: number[], high: number[], share: number): string {
  return `rgb(${low.map((value, i) => Math.round(value + (high[i]! - value) * Math.min(share, 1))).join(" ")})`;
}
