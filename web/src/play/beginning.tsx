// A new game: the person's side, and where it starts.
import { useState } from "preact/hooks";
import { Choice } from "./opponent";
import type { Session } from "./session";
import type { Side } from "./settings";

type Start = "normal" | "fen" | "chess960";
const SIDES: [string, string][] = [
  ["white", "White"],
  ["black", "Black"],
  ["random", "Random"],
];
const STARTS: [string, string][] = [
  ["normal", "Normal position"],
  ["fen", "A FEN"],
  ["chess960", "Chess960"],
];
const NORMAL = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
const POSITIONS = 960;

export function Beginning({ session }: { session: Session }) {
  const [side, setSide] = useState("white");
  const [start, setStart] = useState<Start>("normal");
  const [fen, setFen] = useState(NORMAL);
  const [number, setNumber] = useState(() => Math.floor(Math.random() * POSITIONS));
  const [refusal, setRefusal] = useState("");
  const playing = session.settings.mode === "play";

  const begin = (event: Event) => {
    event.preventDefault();
    const chosen: Side = side === "random" ? (Math.random() < 0.5 ? "white" : "black") : (side as Side);
    const how = start === "chess960" ? { chess960: number } : { text: start === "fen" ? fen : NORMAL };
    void session.begin(how, playing ? chosen : session.settings.side).then(setRefusal);
  };

  return (
    <section class="panel" aria-label="New game">
      <h2>{playing ? "New game" : "New position"}</h2>
      <form class="beginning" onSubmit={begin}>
        {playing && <Choice label="You play" value={side} options={SIDES} choose={setSide} />}
        <Choice label="From" value={start} options={STARTS} choose={(value) => setStart(value as Start)} />
        {start === "fen" && (
          <label class="choice wide">
            <span>FEN</span>
            <input type="text" required maxLength={120} spellcheck={false} value={fen} aria-invalid={refusal !== ""} onInput={(event) => (setFen(event.currentTarget.value), setRefusal(""))} />
          </label>
        )}
        {refusal && <p class="bad wide" role="alert">{refusal}</p>}
        {start === "chess960" && (
          <label class="choice">
            <span>Position, 0 to 959</span>
            <input
              type="number"
              required
              min={0}
              max={POSITIONS - 1}
              value={number}
              onInput={(event) => setNumber(event.currentTarget.valueAsNumber)}
            />
          </label>
        )}
        <button class="primary" type="submit">
          {playing ? "Start" : "Set up"}
        </button>
      </form>
    </section>
  );
}
