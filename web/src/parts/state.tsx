// The state of a run, and the head of each page about one run.
import { report } from "../api";
import { clock, amount, words } from "../format";
import { go, link } from "../router";
import type { Run, RunStatus } from "../types";
import { Entry } from "./header";

const MOODS: Record<string, string> = { failed: "bad", gone: "bad", stopped: "warn", unknown: "muted", done: "muted" };

export function State({ state }: { state: string }) {
  return <span class={`state ${MOODS[state] ?? "good"}`}>{state === "gone" ? "gone silent" : words(state)}</span>;
}

export function Progress(props: { value: number | null; label: string }) {
  if (props.value === null) return null;
  return <progress class="progress" value={props.value} max={1} aria-label={props.label} />;
}

/** 120 of 4,096 games, iteration 3 of 6. */
export function reached(said: Pick<RunStatus, "iteration" | "iterations" | "games" | "target">): string {
  const games = said.target ? `${amount(said.games)} of ${amount(said.target)} games` : `${amount(said.games)} games`;
  return said.iterations ? `iteration ${said.iteration} of ${said.iterations}, ${games}` : games;
}

const TABS = ["boards", "games", "throughput", "training", "strength", "results", "facts"];

export function RunHead(props: { run: Run | null; id: string; here: string }) {
  const said = props.run?.status;
  const tabs = TABS.filter((tab) => tab !== "training" || !said || said.kind === "train");
  return (
    <section class="run-head">
      <div class="row apart">
        <h1>{props.run?.name ?? props.id}</h1>
        {!report && <GameBox id={props.id} />}
      </div>
      {said && <StatusLine said={said} isBrief={props.here === "game"} />}
      {!report && <nav class="tabs" aria-label={`Pages about ${props.id}`}>
        {tabs.map((tab) => (
          <Entry key={tab} here={tab === (props.here === "game" ? "games" : props.here)} href={link(["run", props.id, tab])} text={tab[0]!.toUpperCase() + tab.slice(1)} />
        ))}
      </nav>}
    </section>
  );
}

function StatusLine({ said, isBrief }: { said: RunStatus; isBrief: boolean }) {
  return (
    <div class="status">
      <div class="row figures">
        <State state={said.state} />
        <span>{reached(said)}</span>
        {said.eta_s != null && !said.is_over && <span class="muted">about {clock(said.eta_s)} left</span>}
        {said.restarts > 0 && <span class="warn">{said.restarts === 1 ? "1 worker" : `${said.restarts} workers`} replaced</span>}
        {said.blocks_checked > 0 && <span class="muted">{amount(said.blocks_checked)} blocks checked</span>}
      </div>
      {!said.is_over && <Progress value={said.progress} label="Progress" />}
      {!isBrief && <Explained said={said} />}
    </div>
  );
}

/** Why it ended, how to resume it, what limits its speed. */
function Explained({ said }: { said: RunStatus }) {
  return (
    <>
      {said.why && <p>{said.why}</p>}
      {said.resume_command && <p>Resume with: <code>{said.resume_command}</code></p>}
      {said.bottleneck.label && (
        <p>
          <b>{said.bottleneck.label}.</b> <span class="advice"><WithCode text={said.bottleneck.advice} />.</span>
        </p>
      )}
    </>
  );
}

/** Text in which `commands` stand between backticks. */
function WithCode({ text }: { text: string }) {
  return <>{text.split("`").map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part))}</>;
}

function GameBox({ id }: { id: string }) {
  const open = (event: SubmitEvent) => {
    event.preventDefault();
    const number = new FormData(event.currentTarget as HTMLFormElement).get("number");
    if (number !== null && number !== "") go(link(["run", id, "game", String(number)]));
  };
  return (
    <form class="row" onSubmit={open}>
      <label for="game-number">Game</label>
      <input id="game-number" name="number" type="number" min="0" step="1" inputMode="numeric" placeholder="number" required />
      <button type="submit">Open</button>
    </form>
  );
}
