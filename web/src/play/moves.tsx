// The moves of the game, each a link to its position, and a field to type one.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Ply } from "./server";
import type { Session } from "./session";

interface Row {
  number: number;
  white: number | null;
  black: number | null;
}

export function MoveList({ session }: { session: Session }) {
  const { game, at, show } = session;
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const here = list.current?.querySelector<HTMLElement>("[aria-current]");
    if (here && list.current) list.current.scrollTop = here.offsetTop - list.current.clientHeight / 2;
  }, [game, at]);
  if (!game) return null;
  const cell = (ply: number | null) =>
    ply !== null && (
      <button class="quiet move" type="button" aria-current={ply === at ? "step" : undefined} onClick={() => show(ply)}>
        {game.plies[ply]!.san}
      </button>
    );
  return (
    <section class="panel" aria-label="Moves">
      <h2>Moves</h2>
      {game.plies.length === 1 ? (
        <p class="muted">Drag a piece, click it and its target square, or type a move.</p>
      ) : (
        <div class="move-list" ref={list} tabIndex={0} role="group" aria-label="Moves of the game">
          <ol>
            {rows(game.plies).map((row) => (
              <li key={row.number}>
                <span class="muted figures">{row.number}.</span>
                <span>{row.white === null ? "…" : cell(row.white)}</span>
                <span>{cell(row.black)}</span>
              </li>
            ))}
          </ol>
        </div>
      )}
      <TypedMove session={session} />
    </section>
  );
}

function TypedMove({ session }: { session: Session }) {
  const [text, setText] = useState("");
  const [error, setError] = useState("");
  const send = async (event: Event) => {
    event.preventDefault();
    if (!text.trim() || !session.canMove) return;
    const refusal = await session.playTyped(text);
    setError(refusal);
    if (!refusal) setText("");
  };
  return (
    <form class="row typed" onSubmit={(event) => void send(event)}>
      <label>
        <span class="hidden">Your move, for example Nf3 or e2e4</span>
        <input
          type="text"
          maxLength={12}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          placeholder="Nf3, e2e4, O-O"
          value={text}
          aria-invalid={error !== ""}
          onInput={(event) => (setText(event.currentTarget.value), setError(""))}
        />
      </label>
      <button type="submit" disabled={!session.canMove}>
        Move
      </button>
      {error && <p class="bad" role="alert">{error}</p>}
    </form>
  );
}

/** Plies by the number of their move; a game may begin with Black's. */
function rows(plies: Ply[]): Row[] {
  const found: Row[] = [];
  for (let ply = 1; ply < plies.length; ply++) {
    const [, turn, , , , count] = plies[ply - 1]!.fen.split(" ");
    const number = Number(count);
    const row = found[found.length - 1];
    if (turn === "w") found.push({ number, white: ply, black: null });
    else if (row?.number === number) row.black = ply;
    else found.push({ number, white: null, black: ply });
  }
  return found;
}
