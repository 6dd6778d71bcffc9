// The settings in which runs differ.
import { useState } from "preact/hooks";
import { useAll } from "../many";

type Value = string | number | boolean | null | Value[] | { [name: string]: Value };

/** {game: {seed: 1}} as {"game.seed": "1"}. */
function flat(values: { [name: string]: Value }, before = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && typeof value === "object" && !Array.isArray(value)) {
      Object.assign(found, flat(value, `${before}${name}.`));
    } else {
      found[before + name] = typeof value === "string" ? value : JSON.stringify(value);
    }
  }
  return found;
}

export function Settings({ runs }: { runs: { id: string; name: string }[] }) {
  const [all, setAll] = useState(false);
  const configs = useAll<{ [name: string]: Value }>(runs.map((run) => `/api/runs/${run.id}/config`)).map((config) => flat(config ?? {}));
  const names = [...new Set(configs.flatMap((config) => Object.keys(config)))].sort();
  const shown = all ? names : names.filter((name) => new Set(configs.map((config) => config[name])).size > 1);
  return (
    <section class="panel">
      <div class="row apart">
        <h2>{all ? "All settings" : "Settings that differ"}</h2>
        <button type="button" aria-pressed={all} onClick={() => setAll(!all)}>Show all</button>
      </div>
      {shown.length === 0 ? (
        <p class="muted">{configs.length === 0 ? "Reading the settings …" : "All settings are the same."}</p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Settings">
          <table>
            <thead>
              <tr>
                <th scope="col">setting</th>
                {runs.map((run) => <th scope="col" class="left" key={run.id}>{run.name}</th>)}
              </tr>
            </thead>
            <tbody>
              {shown.map((name) => (
                <tr key={name}>
                  <th scope="row"><code>{name}</code></th>
                  {configs.map((config, nth) => <td class="left" key={runs[nth]?.id}>{config[name] ?? <span class="muted">–</span>}</td>)}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
