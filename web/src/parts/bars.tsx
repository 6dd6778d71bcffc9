// Counts by name as bars in a table, which is its own description.
import { amount, percent } from "../format";

export interface Bar {
  name: string;
  count: number;
  hue?: number;
}

export function Bars(props: { title: string; unit: string; bars: Bar[]; nameOf: string }) {
  const total = props.bars.reduce((sum, bar) => sum + bar.count, 0) || 1;
  const most = Math.max(1, ...props.bars.map((bar) => bar.count));
  return (
    <section class="panel">
      <h3>{props.title}</h3>
      <table class="bars">
        <thead class="hidden">
          <tr>
            <th scope="col">{props.nameOf}</th>
            <th scope="col" aria-label="bar" />
            <th scope="col">{props.unit}</th>
            <th scope="col">share</th>
          </tr>
        </thead>
        <tbody>
          {props.bars.map((bar) => (
            <tr key={bar.name}>
              <th scope="row">{bar.name}</th>
              <td class="bar-cell">
                <span class={`bar fill-${bar.hue ?? 1}`} style={{ width: `${(100 * bar.count) / most}%` }} />
              </td>
              <td>{amount(bar.count)}</td>
              <td class="muted">{percent(bar.count / total, 1)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
