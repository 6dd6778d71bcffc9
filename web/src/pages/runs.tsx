// All runs: state, speed, and what limits it.
import { report } from "../api";
import { amount, clock, moment, percent } from "../format";
import { Empty } from "../parts/empty";
import { Progress, State, reached } from "../parts/state";
import { link } from "../router";
import { useTopic } from "../stream";
import type { RunLine } from "../types";

export function Runs() {
  const { value, error } = useTopic<RunLine[]>("runs");
  if (error) return <Empty title="The runs cannot be shown">{error}</Empty>;
  if (!value) return <p class="muted">Reading the runs …</p>;
  if (value.length === 0) {
    return (
      <Empty title="No run yet" command="vecchess selfplay">
        A run appears here by itself as soon as one starts in the folders that are watched.
      </Empty>
    );
  }
  return (
    <>
      <h1>Runs</h1>
      <ul class="runs">
        {value.map((run) => (
          <RunCard key={run.id} run={run} />
        ))}
      </ul>
    </>
  );
}

function RunCard({ run }: { run: RunLine }) {
  return (
    <li class="panel run-card">
      <div class="row apart">
        <h2>
          <a href={link(report ? ["run", run.id] : ["run", run.id, run.is_over ? "games" : "boards"])}>{run.name}</a>
        </h2>
        <State state={run.state} />
      </div>
      <p class="figures">
        {run.kind === "train" ? "Training" : "Self-play"}, {reached(run)}
        {run.eta_s !== null && !run.is_over && <span class="muted">, about {clock(run.eta_s)} left</span>}
      </p>
      {!run.is_over && <Progress value={run.progress} label={`Progress of ${run.name}`} />}
      {run.why && <p class={run.state === "done" ? "muted" : ""}>{run.why}</p>}
      <Figures run={run} />
    </li>
  );
}

function Figures({ run }: { run: RunLine }) {
  const { load } = run;
  const figures: [string, string][] = [
    ["started", moment(run.started_unix)],
    ["ran", clock(run.seconds)],
    ["recorded", `${amount(run.recorded)} games`],
  ];
  if (load.plies_per_s) {
    figures.push(["speed", `${amount(Math.round(load.plies_per_s))} plies/s`], ["fill", percent(load.batch_fill)]);
  }
  if (run.bottleneck.label) figures.push(["limit", run.bottleneck.label]);
  if (run.eval) figures.push([`against ${run.eval.opponent}`, percent(run.eval.score, 1)]);
  return (
    <dl class="facts figures">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
