// One game: a large board, the moves with their evaluations, and White's expected score over the game.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useGet } from "../api";
import { percent, words } from "../format";
import { Board } from "../parts/board";
import { Chart } from "../parts/chart";
import { Empty } from "../parts/empty";
import { MoveList } from "../parts/move_list";
import { ValueBar } from "../parts/value_bar";
import { link } from "../router";
import { useTopic } from "../stream";
import type { Game, Run } from "../types";

/** The newest state of a game; the last one stays while it is over but not recorded yet, or for ever where the
 * run ended before it did. */
function useGame(run: Run, number: number): { game: Game | null; error: string | null; isWaiting: boolean } {
  const isOver = run.status.is_over;
  const asked = useGet<Game>(`/api/runs/${run.id}/games/${number}`, isOver);
  const [isLive, setLive] = useState(false);
  const heard = useTopic<Game>(isLive || asked.error ? `game/${run.id}/${number}` : null);
  const kept = useRef<Game | null>(null);
  const recorded = asked.value?.is_live ? null : asked.value;
  const newest = recorded ?? heard.value ?? kept.current ?? asked.value;
  kept.current = newest;
  const game = useMemo(() => newest && { ...newest, is_live: newest.is_live && !isOver }, [newest, isOver]);
  useEffect(() => setLive(game !== null && game.is_live), [game?.is_live]);
  return { game, error: asked.error?.message ?? null, isWaiting: heard.error !== null };
}

export function GamePage({ run, number }: { run: Run; number: number }) {
  const { game, error, isWaiting } = useGame(run, number);
  if (!game) {
    return error ? (
      <>
        <Neighbours run={run.id} number={number} previous={null} next={null} />
        <Empty title={`Game ${number} is not here`}>
          {error}. Finished games are recorded within half a minute; of those being played only some are shown.
        </Empty>
      </>
    ) : (
      <p class="muted">Reading the game …</p>
    );
  }
  return <Viewer run={run} game={game} isWaiting={isWaiting} />;
}

function Viewer({ run, game, isWaiting }: { run: Run; game: Game; isWaiting: boolean }) {
  const last = game.ucis.length;
  const [chosen, setChosen] = useState<number | null>(game.is_live ? null : 0);
  const [flipped, setFlipped] = useState(false);
  const ply = Math.min(chosen ?? last, last);
  const show = (to: number) => setChosen(Math.max(0, Math.min(to, last)));
  const step = (by: number) => setChosen((old) => Math.max(0, Math.min((old ?? last) + by, last)));
  useLayoutEffect(() => {
    const keys = (event: KeyboardEvent) => {
      if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "ArrowLeft" || event.key === "ArrowRight") step(event.key === "ArrowLeft" ? -1 : 1);
      else if (event.key === "Home" || event.key === "End") show(event.key === "Home" ? 0 : last);
      else if (event.key === "f") setFlipped(!flipped);
      else if (event.key === "l" && game.is_live) setChosen(null);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  });
  const x = useMemo(() => game.white_score.map((_, index) => index), [game.white_score]);
  const curves = useMemo(() => [{ label: "White's expected score", values: game.white_score }], [game.white_score]);
  return (
    <div class="game">
      <section class="game-board" aria-label="Board">
        <div class="with-bar">
          <Board
            fen={`${game.fens[ply]} - - 0 1`}
            last={ply > 0 ? game.ucis[ply - 1] : undefined}
            orientation={flipped ? "black" : "white"}
            coordinates
            label={`Position after ply ${ply}: ${game.fens[ply]}`}
          />
          <ValueBar score={scoreAt(game, ply)} flipped={flipped} />
        </div>
        <div class="row controls">
          <button type="button" onClick={() => show(0)} aria-label="First position"><Arrow d="M4 3v10M13 3 6 8l7 5z" /></button>
          <button type="button" onClick={() => step(-1)} disabled={ply === 0} aria-label="Back one ply"><Arrow d="M12 3 5 8l7 5z" /></button>
          <button type="button" onClick={() => step(1)} disabled={ply === last} aria-label="On one ply"><Arrow d="m4 3 7 5-7 5z" /></button>
          <button type="button" onClick={() => show(last)} aria-label="Last position"><Arrow d="M12 3v10M3 3l7 5-7 5z" /></button>
          <button type="button" onClick={() => setFlipped(!flipped)} aria-pressed={flipped}>Flip board</button>
          {game.is_live && (
            <button type="button" aria-pressed={chosen === null} onClick={() => setChosen(chosen === null ? ply : null)}>Live</button>
          )}
          <span class="figures muted">ply {ply} of {last}</span>
        </div>
        <p class="muted small">Arrow keys, Home and End go through the game; f flips the board{game.is_live ? "; l follows it" : ""}.</p>
      </section>
      <section class="game-facts">
        <Neighbours run={run.id} number={game.number} previous={game.previous} next={game.next} />
        <p class="figures">
          <b>{outcome(game, isWaiting)}</b>
          <span class="muted"> · {scoreText(game, ply)}</span>
        </p>
        <div class="game-chart">
          <Chart title="Value over the game" x={x} xName="ply" curves={curves} from={0} to={1} height={130} share mark={ply} onPick={show} />
        </div>
        <MoveList game={game} ply={ply} onPick={show} />
      </section>
    </div>
  );
}

function Arrow({ d }: { d: string }) {
  return (
    <svg viewBox="0 0 16 16" width="15" height="15" aria-hidden="true">
      <path d={d} fill="currentColor" stroke="currentColor" stroke-width="1.4" stroke-linejoin="round" />
    </svg>
  );
}

function Neighbours(props: { run: string; number: number; previous: number | null; next: number | null }) {
  const { run, number, previous, next } = props;
  return (
    <div class="row apart">
      <h2>Game {number}</h2>
      <nav aria-label="Games" class="row">
        {previous !== null && <a href={link(["run", run, "game", previous])}>Previous</a>}
        {next !== null && <a href={link(["run", run, "game", next])}>Next</a>}
        <a href={link(["run", run, "games"])}>All games</a>
      </nav>
    </div>
  );
}

/** Of the position on the board, or else of the last one that was evaluated before it. */
function scoreAt(game: Game, ply: number): number | null {
  for (let at = Math.min(ply, game.white_score.length - 1); at >= 0; at--) {
    const score = game.white_score[at];
    if (score != null) return score;
  }
  return null;
}

function scoreText(game: Game, ply: number): string {
  const score = game.white_score[ply];
  if (score == null) return ply === game.ucis.length && !game.is_live ? "the end" : "this position was not evaluated";
  const steps = game.steps[ply] ? `, ${game.steps[ply]} time steps` : "";
  const visits = game.visits[ply] ? `, ${game.visits[ply]} simulations` : "";
  return `White ${percent(score, 1)}${steps}${visits}`;
}

function outcome(game: Game, isWaiting: boolean): string {
  if (game.result !== "*") return `${game.result.replace("1/2-1/2", "½–½")}, ${words(game.termination)}`;
  if (!game.is_live) return "not finished: the run is over";
  return isWaiting ? "over; its record is being written" : "being played";
}
