// The workers of a run, one a line.
import { amount, percent } from "../format";
import type { Worker } from "../types";

export function Workers({ workers }: { workers: Worker[] }) {
  if (workers.length === 0) return null;
  const hasGpu = workers.some((worker) => worker.gpu);
  return (
    <section class="panel">
      <h2>Workers</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Workers">
        <table>
          <thead>
            <tr>
              <th scope="col">worker</th>
              <th scope="col" class="left">device</th>
              <th scope="col" class="left">stage</th>
              {["games", "seated", "plies/s", "evals/s", "steps", "fill", "network", "movers"].map((name) => (
                <th scope="col" key={name}>{name}</th>
              ))}
              {hasGpu && ["GPU", "memory", "power", "°C"].map((name) => <th scope="col" key={name}>{name}</th>)}
            </tr>
          </thead>
          <tbody>
            {workers.map((worker) => (
              <Row key={worker.index} worker={worker} hasGpu={hasGpu} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Row({ worker, hasGpu }: { worker: Worker; hasGpu: boolean }) {
  const { load, gpu } = worker;
  const rounded = (value: number | undefined) => amount(value === undefined ? value : Math.round(value));
  return (
    <tr>
      <th scope="row">{worker.index}</th>
      <td class="left">{gpu?.name ? `${worker.device} (${gpu.name})` : worker.device}</td>
      <td class="left">{worker.stage}</td>
      <td>{amount(worker.games)}</td>
      <td>{amount(worker.seated)}</td>
      <td>{rounded(load?.plies_per_s)}</td>
      <td>{rounded(load?.evals_per_s)}</td>
      <td>{amount(load?.mean_time_steps)}</td>
      <td>{percent(load?.batch_fill)}</td>
      <td>{percent(load?.device_busy)}</td>
      <td>{percent(load?.mover_busy)}</td>
      {hasGpu && (
        <>
          <td>{percent(gpu?.util)}</td>
          <td>{gpu ? `${amount(Math.round((gpu.memory_mb ?? 0) / 1000))} of ${amount(Math.round((gpu.memory_total_mb ?? 0) / 1000))} GB` : ""}</td>
          <td>{gpu ? `${rounded(gpu.power_w)} W` : ""}</td>
          <td>{rounded(gpu?.temperature_c)}</td>
        </>
      )}
    </tr>
  );
}
