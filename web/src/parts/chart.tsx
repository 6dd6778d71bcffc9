// A chart over uPlot, with a legend that shows the figures under the pointer, and a table of them.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { amount, percent, short } from "../format";
import { timeTicks } from "../time_ticks";
import { colour, useTheme } from "../theme";
import { Figures } from "./figures";

export interface Curve {
  label: string;
  values: (number | null)[];
  /** Ends of its interval. */
  low?: (number | null)[];
  high?: (number | null)[];
  /** Which of the colours, from 1; by default its place. */
  hue?: number;
  /** Points without a line. */
  points?: boolean;
  dashed?: boolean;
}

export interface ChartProps {
  title: string;
  x: number[];
  curves: Curve[];
  /** What x counts; "time" for seconds since 1970. */
  xName: string;
  format?: (value: number | null) => string;
  /** Values from 0 to 1 that are shown as percentages. */
  share?: boolean;
  /** Ends of the y axis that are always seen. */
  from?: number;
  to?: number;
  height?: number;
  /** Charts of one group share the pointer. */
  group?: string;
  onPick?: (index: number) => void;
  /** A line at this place of x. */
  mark?: number;
  /** x is drawn by its logarithm. */
  logarithmic?: boolean;
  note?: string;
}

const NUM_HUES = 6;
const DASHES: number[][] = [[], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3]];
const FEW = 40;
/** What is counted in whole numbers is labelled in whole numbers. */
const WHOLE = new Set(["ply", "time step", "iteration"]);
const WHOLE_STEPS = [1, 2, 5].flatMap((first) => [0, 1, 2, 3, 4].map((power) => first * 10 ** power)).sort((a, b) => a - b);

const hueOf = (curve: Curve, index: number) => (((curve.hue ?? index + 1) - 1) % NUM_HUES) + 1;

export function Chart(props: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const theme = useTheme();
  const format = props.format ?? (props.share ? (value: number | null) => percent(value, 1) : amount);
  const latest = useRef(props);
  latest.current = props;
  const shape = props.curves.map((curve) => `${curve.label}|${curve.low ? 1 : 0}|${curve.points ? 1 : 0}`).join();
  const data = useMemo(() => aligned(props), [props.x, ...props.curves.flatMap((curve) => [curve.values, curve.low, curve.high])]);
  useEffect(() => {
    const node = place.current!;
    const made = new uPlot(options(latest, node.clientWidth, setAt), aligned(latest.current), node);
    plot.current = made;
    const watcher = new ResizeObserver(() => made.setSize({ width: node.clientWidth, height: props.height ?? 180 }));
    watcher.observe(node);
    return () => {
      watcher.disconnect();
      made.destroy();
    };
  }, [shape, theme, props.xName, props.height, props.group]);
  useEffect(() => plot.current?.setData(data), [data]);
  useEffect(() => plot.current?.redraw(false), [props.mark]);
  const shown = at !== null && at < props.x.length ? at : markedPlace(props);
  return (
    <figure class="panel chart">
      <figcaption>
        <h3>{props.title}</h3>
        <Legend curves={props.curves} at={shown} format={format} />
      </figcaption>
      <div ref={place} class="plot" aria-hidden="true" />
      {props.xName !== "time" && <p class="muted small x-name" aria-hidden="true">{props.xName}</p>}
      {props.note && <p class="muted small">{props.note}</p>}
      <Figures title={props.title} x={props.x} xName={props.xName} curves={props.curves} format={format} />
    </figure>
  );
}

/** The place whose figures stand in the legend while the pointer is elsewhere: the mark, or the newest. */
function markedPlace({ x, mark }: ChartProps): number {
  const found = mark === undefined ? -1 : x.findIndex((value) => value >= mark);
  return found >= 0 ? found : x.length - 1;
}

function Legend(props: { curves: Curve[]; at: number; format: (value: number | null) => string }) {
  return (
    <ul class="legend">
      {props.curves.map((curve, index) => (
        <li key={curve.label}>
          <svg width="16" height="10" aria-hidden="true" class={`hue-${hueOf(curve, index)}`}>
            <line x1="0" y1="5" x2="16" y2="5" stroke-dasharray={dashes(curve, index).join(" ")} />
          </svg>
          {curve.label} <b class="figures">{props.format(knownAt(curve.values, props.at))}</b>
        </li>
      ))}
    </ul>
  );
}

/** The value there, or the last one known before: curves of several runs have gaps. */
function knownAt(values: (number | null)[], at: number): number | null {
  for (let index = at; index >= 0; index--) {
    const value = values[index];
    if (value != null) return value;
  }
  return null;
}

function dashes(curve: Curve, index: number): number[] {
  return curve.dashed ? [4, 4] : (DASHES[(hueOf(curve, index) - 1) % DASHES.length] ?? []);
}

/** Columns as uPlot takes them: x, the curves, then the ends of intervals. */
function aligned(props: ChartProps): uPlot.AlignedData {
  const ends = props.curves.flatMap((curve) => (curve.low && curve.high ? [curve.low, curve.high] : []));
  return [props.x, ...props.curves.map((curve) => curve.values), ...ends] as uPlot.AlignedData;
}

type Latest = { current: ChartProps };

function options(latest: Latest, width: number, setAt: (index: number | null) => void): uPlot.Options {
  const props = latest.current;
  const { series, bands } = drawn(props.curves);
  return {
    width: Math.max(width, 120),
    height: props.height ?? 180,
    legend: { show: false },
    padding: [8, 10, 0, 0],
    cursor: {
      y: false,
      points: { size: 6 },
      drag: { x: false, y: false },
      ...(props.group ? { sync: { key: props.group } } : {}),
    },
    scales: { x: { time: props.xName === "time", ...xRange(latest), ...(props.logarithmic ? { distr: 3 } : {}) }, y: { range: (_, low, high) => yRange(latest.current, low, high) } },
    axes: [
      { ...axis(26), ...(props.xName === "time" ? timeTicks : { values: labels(short) }), ...(WHOLE.has(props.xName) ? { incrs: WHOLE_STEPS } : {}) },
      { ...axis(50), values: labels(props.share ? percent : short) },
    ],
    series: [{}, ...series],
    bands,
    hooks: {
      setCursor: [(plot) => setAt(plot.cursor.idx ?? null)],
      draw: [(plot) => drawMark(plot, latest.current.mark)],
      ready: [(plot) => plot.over.addEventListener("click", () => plot.cursor.idx != null && latest.current.onPick?.(plot.cursor.idx))],
    },
  };
}

/** A single point stands in the middle, not on an axis of no length. */
function xRange(latest: Latest): { range: uPlot.Range.Function } {
  const half = latest.current.xName === "time" ? 30 : 0.5;
  return { range: (_, low, high) => (latest.current.logarithmic && low === high ? [(low ?? 1) / 2, (low ?? 1) * 2] : low === null || low === high ? [(low ?? 0) - half, (low ?? 0) + half] : [low, high]) };
}

function yRange(props: ChartProps, low: number | null, high: number | null): [number, number] {
  const bottom = Math.min(props.from ?? Infinity, low ?? Infinity);
  const top = Math.max(props.to ?? -Infinity, high ?? -Infinity);
  const [a, b] = [Number.isFinite(bottom) ? bottom : 0, Number.isFinite(top) ? top : 1];
  const room = (b - a || Math.abs(b) || 1) * 0.06;
  return [a === props.from ? a : a - room, b === props.to ? b + 0.01 * room : b + room];
}

/** A logarithmic axis has grid lines without a number, null, between those with one. */
const labels = (say: (value: number) => string) => (_: uPlot, splits: (number | null)[]) => splits.map((value) => (value === null ? "" : say(value)));

function axis(size: number): uPlot.Axis {
  return {
    size,
    stroke: colour("muted"),
    font: `11px ${colour("sans")}`,
    grid: { stroke: colour("line"), width: 1 },
    ticks: { show: false },
    gap: 5,
  };
}

function drawn(curves: Curve[]): { series: uPlot.Series[]; bands: uPlot.Band[] } {
  const series: uPlot.Series[] = curves.map((curve, index) => ({
    label: curve.label,
    stroke: colour(`series-${hueOf(curve, index)}`),
    width: 1.6,
    dash: dashes(curve, index),
    spanGaps: true,
    ...(curve.points ? { paths: () => null } : {}),
    points: {
      show: (plot: uPlot, at: number) => curve.points === true || numKnown(plot.data[at]) < FEW,
      size: curve.points ? 7 : 4,
      fill: colour(`series-${hueOf(curve, index)}`),
    },
  }));
  const bands: uPlot.Band[] = [];
  for (const [index, curve] of curves.entries()) {
    if (!curve.low || !curve.high) continue;
    const stroke = colour(`series-${hueOf(curve, index)}`);
    const edge: uPlot.Series = { stroke, width: 0.6, alpha: 0.6, spanGaps: true, points: { show: false } };
    series.push({ ...edge }, { ...edge });
    bands.push({ series: [series.length, series.length - 1], fill: `${stroke}26` });
  }
  return { series, bands };
}

function drawMark(plot: uPlot, mark: number | undefined): void {
  if (mark === undefined) return;
  const left = plot.valToPos(mark, "x", true);
  const { top, height } = plot.bbox;
  plot.ctx.save();
  plot.ctx.strokeStyle = colour("text");
  plot.ctx.lineWidth = devicePixelRatio;
  plot.ctx.beginPath();
  plot.ctx.moveTo(left, top);
  plot.ctx.lineTo(left, top + height);
  plot.ctx.stroke();
  plot.ctx.restore();
}

function numKnown(values: ArrayLike<number | null | undefined> | undefined): number {
  let known = 0;
  for (let at = 0; at < (values?.length ?? 0); at++) if (values![at] != null) known++;
  return known;
}
