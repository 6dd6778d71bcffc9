// The moves of a game in two columns, each with White's expected score before it and the time steps it took.
import { useEffect, useRef } from "preact/hooks";
import { percent } from "../format";
import type { Game } from "../types";

interface MoveListProps {
  game: Game;
  ply: number;
  onPick: (ply: number) => void;
}

export function MoveList({ game, ply, onPick }: MoveListProps) {
  const list = useRef<HTMLDivElement>(null);
  const blackBegins = game.fens[0]?.endsWith(" b") ? 1 : 0;
  const rows = Math.ceil((game.sans.length + blackBegins) / 2);
  useEffect(() => {
    const box = list.current!;
    const here = box.querySelector<HTMLElement>("[aria-current]");
    if (!here) box.scrollTop = 0;
    else box.scrollTop = here.offsetTop - box.clientHeight / 2;
  }, [ply, game.number]);
  return (
    <div class="moves" ref={list} tabIndex={0} role="region" aria-label="Moves">
      <table>
        <thead>
          <tr>
            <th scope="col">no.</th>
            <th scope="col" class="left">White</th>
            <th scope="col" class="left">Black</th>
          </tr>
        </thead>
        <tbody>
          {Array.from({ length: rows }, (_, row) => (
            <tr key={row}>
              <th scope="row">{row + 1}</th>
              <Move game={game} at={2 * row - blackBegins} here={ply} onPick={onPick} />
              <Move game={game} at={2 * row + 1 - blackBegins} here={ply} onPick={onPick} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Move(props: { game: Game; at: number; here: number; onPick: (ply: number) => void }) {
  const { game, at } = props;
  const san = game.sans[at];
  if (san === undefined) return <td />;
  const [score, steps] = [game.white_score[at], game.steps[at]];
  return (
    <td class="left">
      <button type="button" class="move" aria-current={props.here === at + 1 ? "true" : undefined} onClick={() => props.onPick(at + 1)}>
        <b>{san}</b>
        <span class="muted">{score == null ? "" : percent(score)}</span>
        <span class="muted">{steps ? `T ${steps}` : ""}</span>
      </button>
    </td>
  );
}
