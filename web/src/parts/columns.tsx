// A histogram: columns side by side, with the figures as a table.
import { amount, percent } from "../format";

export interface Bin {
  name: string;
  short: string;
  count: number;
}

const WIDE = 100;
const HIGH = 60;
const MOST_LABELS = 9;
/** A column is at most this part of the width, or a few would be walls. */
const WIDEST = 0.15 * WIDE;

const ROUND = [1, 2, 4, 6, 10];

/** The least round share that is not below `share`; its half is short too. */
function roundShare(share: number): number {
  const power = 10 ** Math.floor(Math.log10(share) + 1e-9);
  const step = ROUND.find((round) => round * power >= share * (1 - 1e-9)) ?? 10;
  return step * power;
}

/** 12 %, 0.5 %: as many digits as a round share has. */
const axisPercent = (share: number) => `${Number((100 * share).toPrecision(3))} %`;

export function Columns(props: { title: string; unit: string; xName: string; bins: Bin[] }) {
  const total = props.bins.reduce((sum, bin) => sum + bin.count, 0) || 1;
  const top = roundShare(Math.max(1, ...props.bins.map((bin) => bin.count)) / total);
  const heightOf = (bin: Bin) => (HIGH * bin.count) / total / top;
  const step = WIDE / Math.max(props.bins.length, 1);
  const width = Math.min(0.84 * step, WIDEST);
  const every = Math.ceil(props.bins.length / MOST_LABELS);
  return (
    <figure class="panel histogram">
      <figcaption>
        <h3>{props.title}</h3>
        <span class="muted small">share of all {props.unit}</span>
      </figcaption>
      <div class="with-axis">
        <div class="y-axis figures muted" aria-hidden="true">
          {[1, 0.5, 0].map((part) => (
            <span key={part}>{axisPercent(part * top)}</span>
          ))}
        </div>
        <svg viewBox={`0 0 ${WIDE} ${HIGH}`} preserveAspectRatio="none" aria-hidden="true">
          <line x1={0} x2={WIDE} y1={HIGH / 2} y2={HIGH / 2} />
          {props.bins.map((bin, at) => (
            <rect key={bin.name} x={(at + 0.5) * step - width / 2} width={width} y={HIGH - heightOf(bin)} height={heightOf(bin)}>
              <title>{`${bin.name} ${props.xName}: ${amount(bin.count)} ${props.unit}`}</title>
            </rect>
          ))}
        </svg>
        <div class="ticks figures muted" aria-hidden="true">
          {props.bins.map((bin, at) => (
            <span key={bin.name}>{at % every === 0 ? bin.short : ""}</span>
          ))}
        </div>
      </div>
      <p class="muted small">{props.xName}</p>
      <details class="figures-of">
        <summary>
          Figures<span class="hidden"> of {props.title}</span>
        </summary>
        <table>
          <thead>
            <tr>
              <th scope="col">{props.xName}</th>
              <th scope="col">{props.unit}</th>
              <th scope="col">share</th>
            </tr>
          </thead>
          <tbody>
            {props.bins.map((bin) => (
              <tr key={bin.name}>
                <th scope="row">{bin.name}</th>
                <td>{amount(bin.count)}</td>
                <td>{percent(bin.count / total, 1)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}
