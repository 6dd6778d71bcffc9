// The games that are being played now, as boards that are kept up to date.
import { memo } from "preact/compat";
import { useRef, useState } from "preact/hooks";
import { percent, words } from "../format";
import { Board } from "../parts/board";
import { Empty } from "../parts/empty";
import { ValueBar } from "../parts/value_bar";
import { link } from "../router";
import { useTopic } from "../stream";
import type { Run, SmallBoard } from "../types";

const STEPS = [16, 32, 64, 128, 256];

export function Boards({ run }: { run: Run }) {
  const [most, setMost] = useState(STEPS[0]!);
  const { value } = useTopic<{ total: number; boards: SmallBoard[] }>(`boards/${run.id}/${most}`);
  const more = STEPS.find((step) => step > most);
  if (!value) return <p class="muted">Reading the boards …</p>;
  if (value.boards.length === 0) return <NoBoards run={run} />;
  const isOver = run.status.is_over;
  return (
    <>
      {isOver && <p>{newestGames(run, value.boards.length)}</p>}
      <ul class={isOver ? "grid last" : "grid"}>
        {value.boards.map((board) => (
          <Tile key={isOver ? board.number : board.seat} run={run.id} board={board} />
        ))}
      </ul>
      <div class="row muted">
        {isOver ? (
          <span>Bar: White's expected score at the last move.</span>
        ) : (
          <span>
            {value.boards.length} boards shown of {inProgress(run, value.total).toLocaleString("en")} games in progress. Below each: number of the game, ply, and T, the time steps that the network took for the newest move. Bar: White's expected score.
          </span>
        )}
        {more && value.total > most && (
          <button type="button" onClick={() => setMost(more)}>
            Show more
          </button>
        )}
        {most > STEPS[0]! && (
          <button type="button" onClick={() => setMost(STEPS[0]!)}>
            Show {STEPS[0]}
          </button>
        )}
      </div>
    </>
  );
}

/** Games that are being played; workers show some of them. */
function inProgress(run: Run, shown: number): number {
  const seated = run.status.workers.reduce((sum, worker) => sum + (worker.seated ?? 0), 0);
  return Math.max(seated, shown);
}

function newestGames(run: Run, shown: number) {
  return (
    <>
      The run is over. Last positions of the newest {shown} of its <a href={link(["run", run.id, "games"])}>{run.stats.games.toLocaleString("en")} recorded games</a>; see the <a href={link(["run", run.id, "results"])}>results</a>.
    </>
  );
}

function NoBoards({ run }: { run: Run }) {
  const said = run.status;
  if (said.is_over) {
    return (
      <Empty title="The run is over">
        {run.stats.games > 0 ? "Its games cannot be read." : "No game was recorded."}
      </Empty>
    );
  }
  const doing = { starting: "The workers are starting: the first boards take some seconds.", learning: "The network is learning. Boards come back with the next games.", evaluating: "The newest network plays matches. Boards come back with the next games." };
  return <Empty title="No boards at the moment">{doing[said.state as keyof typeof doing] ?? "They appear here by themselves."}</Empty>;
}

/** Pieces slide only where a move or two was made: more is unreadable, and costs CPU time. */
const FEW_PLIES = 2;

function useSlides(ply: number): boolean {
  const before = useRef(ply);
  const few = Math.abs(ply - before.current) <= FEW_PLIES;
  before.current = ply;
  return few;
}

const Tile = memo(
  ({ run, board }: { run: string; board: SmallBoard }) => (
    <li class={`tile${board.over ? " over" : ""}`}>
      <a href={link(["run", run, "game", board.number])} aria-label={spoken(board)}>
        <div class="with-bar" aria-hidden="true">
          <Board fen={board.fen} last={board.last} label="" slides={useSlides(board.ply)} />
          <ValueBar score={board.white_score} hidden />
        </div>
        <div class="caption figures" aria-hidden="true">
          <b>{board.number}</b>
          {board.over ? <span class="ended">{ended(board)}</span> : <span class="muted">ply {board.ply}</span>}
          {!board.over && <span class="muted">{board.steps ? `T ${board.steps}` : ""}</span>}
        </div>
      </a>
    </li>
  ),
  (a, b) => a.run === b.run && JSON.stringify(a.board) === JSON.stringify(b.board),
);

function ended(board: SmallBoard): string {
  return board.result === "*" ? "over" : `${board.result.replace("1/2-1/2", "½–½")} ${words(board.termination)}`;
}

function spoken(board: SmallBoard): string {
  const value = board.white_score === null ? "" : `, White's expected score ${percent(board.white_score)}`;
  const steps = board.steps ? `, ${board.steps} time steps` : "";
  return board.over ? `Game ${board.number}, ${ended(board)}` : `Game ${board.number}, ply ${board.ply}${value}${steps}`;
}
