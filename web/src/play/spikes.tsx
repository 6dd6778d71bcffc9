// What the neurons do: the share of each layer that spikes at each time step, and where on the board.
import type { Key } from "chessground/types";
import { percent } from "./chances";
import { Choice } from "./opponent";
import type { Layer, Seen } from "./server";

/** The layer drawn on the board, "" for none, and the step, from 0. */
export interface Painted {
  layer: string;
  step: number;
}

const LEVELS = 9;
const FILES = "abcdefgh";

/** Classes of the squares for the layer and step that are to be drawn. */
export function asPainted(seen: Seen | null, { layer, step }: Painted): Map<Key, string> {
  const counts = seen?.layers.find(({ name }) => name === layer)?.squares[step];
  const most = Math.max(1, ...(counts ?? []));
  const painted = new Map<Key, string>();
  counts?.forEach((count, square) => {
    const level = Math.round((LEVELS * count) / most);
    if (level > 0) painted.set(`${FILES[square % 8]}${Math.floor(square / 8) + 1}` as Key, `spike-${level}`);
  });
  return painted;
}

export function Spikes(props: {
  seen: Seen | null;
  error: string;
  paint: Painted;
  choose: (paint: Painted) => void;
}) {
  const { seen, error } = props;
  return (
    <section class="panel spikes" aria-label="Spikes">
      <h2>Spikes</h2>
      {error && <p class="bad">{error}</p>}
      {!seen && !error && <p class="muted">Computing the spikes …</p>}
      {seen?.line && <p class="muted">{seen.line}</p>}
      {seen?.steps !== undefined && <Steps seen={seen} />}
      {seen && seen.layers.length > 0 && <Layers seen={seen} paint={props.paint} choose={props.choose} />}
    </section>
  );
}

/** The value after each step, and where the exit rule lets the position go. */
function Steps({ seen }: { seen: Seen }) {
  return (
    <div class="scroll">
      <table class="values">
        <caption>
          The answer is settled after {seen.steps} of {seen.time_steps} time steps.
        </caption>
        <thead>
          <tr>
            <th scope="col">Step</th>
            {seen.values.map((_, step) => (
              <th scope="col" key={step} class={step + 1 === seen.steps ? "exit" : step + 1 > seen.steps! ? "unused" : ""}>
                {step + 1}
                {step + 1 === seen.steps && <span class="hidden"> (leaves here)</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {(["win", "draw", "loss"] as const).map((chance, row) => (
            <tr key={chance}>
              <th scope="row">{["White wins", "Draw", "Black wins"][row]}</th>
              {seen.values.map((value, step) => (
                <td key={step} class={step + 1 > seen.steps! ? "unused" : ""}>
                  {percent(value[chance])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Layers({ seen, paint, choose }: { seen: Seen; paint: Painted; choose: (paint: Painted) => void }) {
  const { layers } = seen;
  const most = Math.max(1e-9, ...layers.flatMap((layer) => layer.shares));
  const steps = layers[0]!.shares.map((_, step): [string, string] => [String(step), `step ${step + 1}`]);
  const chosen = layers.find(({ name }) => name === paint.layer);
  return (
    <>
      <div class="row painting">
        <Choice
          label="Draw on the board"
          value={chosen?.name ?? ""}
          options={[["", "nothing"], ...layers.map(({ name }): [string, string] => [name, name])]}
          choose={(layer) => choose({ ...paint, layer })}
        />
        {chosen && (
          <Choice label="at" value={String(paint.step)} options={steps} choose={(step) => choose({ ...paint, step: Number(step) })} />
        )}
      </div>
      {chosen && <Legend layer={chosen} step={paint.step} />}
      <div class="scroll layers" tabIndex={0} role="group" aria-label="Share of neurons that spike">
        <table>
          <caption>Share of neurons that spike, by layer and time step</caption>
          <thead>
            <tr>
              <th scope="col">Layer</th>
              {steps.map(([value], step) => (
                <th scope="col" key={value} class={step + 1 > (seen.steps ?? 0) ? "unused" : ""}>
                  {step + 1}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {layers.map((layer) => (
              <tr key={layer.name}>
                <th scope="row" class="mono">
                  {layer.name}
                </th>
                {layer.shares.map((share, step) => (
                  <td
                    key={step}
                    class={`share ${layer.name === paint.layer && step === paint.step ? "chosen" : ""}`}
                    title={`${layer.name}, step ${step + 1}: draw on the board`}
                    onClick={() => choose({ layer: layer.name, step })}
                  >
                    <span class="share-bar" style={{ width: `${(100 * share) / most}%` }} />
                    <span class="share-figure">{(100 * share).toFixed(1)}</span>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Legend({ layer, step }: { layer: Layer; step: number }) {
  const counts = layer.squares[step] ?? [];
  const most = Math.max(0, ...counts);
  const sum = counts.reduce((total, count) => total + count, 0);
  return (
    <p class="legend muted figures">
      <span class="legend-scale" aria-hidden="true">
        {Array.from({ length: LEVELS }, (_, level) => (
          <span key={level} class={`spike-${level + 1}`} />
        ))}
      </span>
      0 to {most} of {layer.channels} neurons of a square; {sum} spikes in all
    </p>
  );
}
