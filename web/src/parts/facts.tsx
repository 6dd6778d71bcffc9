// Facts about runs in words: a column for each run.
import { useGet, useTurn } from "../api";
import { useAll } from "../many";
import type { Facts, Run, RunLine } from "../types";

interface Column {
  id: string;
  name: string;
}

export function FactsOf({ runs }: { runs: RunLine[] }) {
  const all = useAll<Facts>(runs.map((run) => `/api/runs/${run.id}/facts`), useTurn(runs));
  if (all.length === 0) return <p class="muted">Reading the facts …</p>;
  return <Rows title="What ran" runs={runs} columns={all.map((one) => new Map(one?.facts))} />;
}

/** Facts about one run, and its settings that are not the defaults. */
export function FactsOfRun({ run }: { run: Run }) {
  const { value, error } = useGet<Facts>(`/api/runs/${run.id}/facts`, useTurn([run.status]));
  if (!value) return <p class="muted">{error ? error.message : "Reading the facts …"}</p>;
  const { facts, settings } = value;
  return (
    <div class="columns">
      <Rows title="What ran" runs={[run]} columns={[new Map(facts)]} />
      {settings.length > 0 && <Rows title="Settings that are not the defaults" runs={[run]} columns={[new Map(settings)]} />}
    </div>
  );
}

function Rows(props: { title: string; runs: Column[]; columns: Map<string, string>[] }) {
  const names = [...new Set(props.columns.flatMap((column) => [...column.keys()]))];
  return (
    <section class="panel">
      <h2>{props.title}</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label={props.title}>
        <table class="about">
          <thead class={props.runs.length > 1 ? "" : "hidden"}>
            <tr>
              <th scope="col">fact</th>
              {props.runs.map((run) => <th scope="col" class="left" key={run.id}>{run.name}</th>)}
            </tr>
          </thead>
          <tbody>
            {names.map((name) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {props.columns.map((column, nth) => <td class="left" key={props.runs[nth]?.id}>{column.get(name) ?? ""}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
