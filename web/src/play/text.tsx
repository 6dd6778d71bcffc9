// The game as text: in by FEN or PGN, out as PGN.
import { useRef, useState } from "preact/hooks";
import { pad } from "../format";
import { ask } from "./server";
import type { Session } from "./session";
import { movesOf } from "./settings";

export function GameText({ session }: { session: Session }) {
  const [text, setText] = useState("");
  const [said, setSaid] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);

  const withPgn = async (use: (pgn: string) => Promise<string> | string) => {
    try {
      setSaid(await use((await ask<{ pgn: string }>("/pgn", asked(session))).pgn));
    } catch (failure) {
      setSaid((failure as Error).message);
    }
  };
  const copy = async (pgn: string) => {
    try {
      await navigator.clipboard.writeText(pgn);
      return "Copied.";
    } catch {
      setText(pgn); // a clipboard needs https or this very machine
      requestAnimationFrame(() => field.current?.select());
      return "The browser does not let pages copy here: the PGN is selected above.";
    }
  };
  const load = async (event: Event) => {
    event.preventDefault();
    const refusal = await session.begin({ text }, session.settings.side);
    if (!refusal) setText("");
    setSaid(refusal || "Loaded.");
  };

  return (
    <section class="panel" aria-label="FEN and PGN">
      <h2>FEN and PGN</h2>
      <form class="game-text" onSubmit={(event) => void load(event)}>
        <label>
          <span class="hidden">A FEN or a PGN</span>
          <textarea
            ref={field}
            rows={3}
            maxLength={60000}
            spellcheck={false}
            placeholder="Paste a FEN or a PGN here"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <div class="row">
          <button type="submit" disabled={!text.trim()}>
            Load
          </button>
          <button type="button" onClick={() => void withPgn(copy)}>
            Copy PGN
          </button>
          <button type="button" onClick={() => void withPgn(download)}>
            Download PGN
          </button>
        </div>
        <p class="muted mono fen" title="The position on the board">
          {session.game?.plies[session.at]?.fen}
        </p>
        <p role="status">{said}</p>
      </form>
    </section>
  );
}

function asked({ game, settings, outcome }: Session) {
  const network = `${settings.network} (${settings.strength.startsWith("e") ? "Elo " : ""}${settings.strength.slice(1)})`;
  const players = settings.side === "white" ? { white: "You", black: network } : { white: network, black: "You" };
  const now = new Date();
  return {
    start: game?.start ?? "startpos",
    moves: game ? movesOf(game) : [],
    ...(settings.mode === "play" ? clipped(players) : {}),
    date: `${now.getFullYear()}.${pad(now.getMonth() + 1)}.${pad(now.getDate())}`,
    ...(outcome ? { result: outcome.result, termination: outcome.reason } : {}),
  };
}

function clipped(players: { white: string; black: string }) {
  return { white: players.white.slice(-120), black: players.black.slice(-120) };
}

function download(pgn: string): string {
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(new Blob([pgn], { type: "application/x-chess-pgn" }));
  anchor.download = "vecchess.pgn";
  anchor.click();
  URL.revokeObjectURL(anchor.href);
  return "Saved as vecchess.pgn.";
}
