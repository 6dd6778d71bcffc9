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

export function Columns(props: { title: string; unit: string; xName: string; bins: Bin[] }) {
  const total = props.bins.reduce((sum, bin) => sum + bin.count, 0) || 1;
  const top = Math.max(1, ...props.bins.map((bin) => bin.count));
  const step = WIDE / Math.max(props.bins.length, 1);
  const width = Math.min(0.84 * step, WIDEST);
  const every = Math.ceil(props.bins.length / MOST_LABELS);
  return (
    <figure class="panel histogram">
      <figcaption>
        <h3>{props.title}</h3>
        <span class="muted small figures">highest: {percent(top / total, 1)}</span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDE} ${HIGH}`} preserveAspectRatio="none" aria-hidden="true">
        {props.bins.map((bin, at) => (
          <rect key={bin.name} x={(at + 0.5) * step - width / 2} width={width} y={HIGH - (HIGH * bin.count) / top} height={(HIGH * bin.count) / top}>
            <title>{`${bin.name} ${props.xName}: ${amount(bin.count)} ${props.unit}`}</title>
          </rect>
        ))}
      </svg>
      <div class="ticks figures muted" aria-hidden="true">
        {props.bins.map((bin, at) => (
          <span key={bin.name}>{at % every === 0 ? bin.short : ""}</span>
        ))}
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
