// The board of a game that can be played on: targets, promotion, arrows, and spikes on its squares.
import type { Config } from "chessground/config";
import type { DrawShape } from "chessground/draw";
import type { Key } from "chessground/types";
import { useMemo, useState } from "preact/hooks";
import { Board } from "../parts/board";
import { Promotion } from "./promotion";
import type { Game, Line, Seen } from "./server";
import type { Session } from "./session";
import { other, type Side } from "./settings";

interface Props {
  session: Session;
  orientation: Side;
  /** Classes of squares, by name. */
  painted: Map<Key, string>;
  lines: Line[];
  seen: Seen | null;
}

export function PlayBoard({ session, orientation, painted, lines, seen }: Props) {
  const [promoting, setPromoting] = useState<{ move: string; place: Game } | null>(null);
  const { game, at, place } = session;
  const ply = game?.plies[at];
  const turn: Side = ply?.fen.split(" ")[1] === "b" ? "black" : "white";

  const config = useMemo<Config>(
    () => ({
      check: ply?.check ? turn : false,
      highlight: { lastMove: painted.size === 0, check: true, custom: painted },
      premovable: { enabled: false },
      movable: {
        free: false,
        color: session.canMove ? turn : (undefined as never),
        dests: new Map(Object.entries(place?.targets ?? {})) as Map<Key, Key[]>,
        events: {
          after: (from, to) => {
            if (place?.promotions.includes(from + to)) setPromoting({ move: from + to, place });
            else session.move(from + to);
          },
        },
      },
    }),
    [place, ply, session.canMove, session.refused, painted, promoting],
  );
  const shapes = useMemo(() => arrows(lines, seen), [lines, seen]);
  if (!ply) return <div class="board" />;
  return (
    <div class={`board-frame ${painted.size > 0 ? "painted" : ""}`}>
      <Board
        fen={ply.fen}
        label={describe(game!, at)}
        last={ply.uci ?? undefined}
        orientation={orientation}
        coordinates
        config={config}
        shapes={shapes}
      />
      {promoting && promoting.place === place && (
        <Promotion
          side={turn}
          choose={(letter) => {
            setPromoting(null);
            if (letter) session.move(promoting.move + letter);
          }}
        />
      )}
    </div>
  );
}

function arrows(lines: Line[], seen: Seen | null): DrawShape[] {
  const best = lines.flatMap((line, rank) => (line.uci ? [arrow(line.uci, rank === 0 ? "green" : "paleGreen", rank === 0 ? 11 : 7)] : []));
  const likely = best.length ? [] : (seen?.policy ?? []).map((move) => arrow(move.uci, "paleBlue", 3 + 12 * move.share));
  return [...best, ...likely];
}

function arrow(uci: string, brush: string, lineWidth: number): DrawShape {
  return { orig: uci.slice(0, 2) as Key, dest: uci.slice(2, 4) as Key, brush, modifiers: { lineWidth } };
}

function describe(game: Game, at: number): string {
  const ply = game.plies[at]!;
  const side: Side = ply.fen.split(" ")[1] === "b" ? "black" : "white";
  const moved = ply.san ? `after ${other(side)}'s ${ply.san}` : "at the start";
  return `Chess board ${moved}, ${side} to move: ${ply.fen.split(" ")[0]}`;
}
