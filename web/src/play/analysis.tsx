// The network's best lines while it searches, and its first choices without a search.
import { useEffect, useState } from "preact/hooks";
import { Bar, shares } from "./chances";
import { listen, type Line, type Offer, type Seen } from "./server";
import type { Session } from "./session";
import { movesOf } from "./settings";

export interface AnalysisState {
  lines: Line[];
  state: "" | "starting" | "thinking" | "done";
  error: string;
}

const NOTHING: AnalysisState = { lines: [], state: "", error: "" };

export function useAnalysis({ game, at, settings }: Session, offer: Offer, isOn: boolean): AnalysisState {
  const [found, setFound] = useState<AnalysisState>(NOTHING);
  useEffect(() => {
    setFound(NOTHING);
    const over = game?.outcome && !game.outcome.can_go_on && at === game.plies.length - 1;
    if (!game || !isOn || over) return;
    const stop = new AbortController();
    const asked = { network: settings.network, start: game.start, moves: movesOf(game, at), sims: offer.analysis_sims };
    const update = ({ state = "", lines }: Partial<AnalysisState>) =>
      stop.signal.aborted || setFound((old) => ({ state, lines: lines ?? old.lines, error: "" }));
    listen("/analyse", asked, stop.signal, (event) => update(event as Partial<AnalysisState>)).catch(
      (failure: Error) => stop.signal.aborted || setFound({ lines: [], state: "", error: failure.message }),
    );
    return () => stop.abort();
  }, [game, at, settings.network, isOn]);
  return found;
}

export function Analysis(props: {
  session: Session;
  analysis: AnalysisState;
  isOn: boolean;
  turn: (on: boolean) => void;
  seen: Seen | null;
}) {
  const { session, analysis, isOn, turn, seen } = props;
  return (
    <section class="panel" aria-label="Analysis">
      <div class="row apart">
        <h2>Best lines</h2>
        <button type="button" aria-pressed={isOn} onClick={() => turn(!isOn)}>
          {isOn ? "Pause" : "Resume"}
        </button>
      </div>
      <p class={analysis.error ? "bad" : "muted figures"}>{analysis.error || words(analysis, isOn)}</p>
      <ol class="lines">
        {analysis.lines.map((line, rank) => (
          <LineRow key={rank} line={line} fen={session.game?.plies[session.at]?.fen ?? ""} play={() => line.uci && session.move(line.uci)} />
        ))}
      </ol>
      {seen && seen.policy.length > 0 && <Policy seen={seen} play={session.move} />}
    </section>
  );
}

function LineRow({ line, fen, play }: { line: Line; fen: string; play: () => void }) {
  const [first, ...rest] = numbered(line.san, fen);
  const [white, draw, black] = shares(line);
  return (
    <li>
      <div class="line-chances figures">
        <Bar chances={line} />
        <span class="muted" title="White wins, draws, Black wins">
          {line.mate === null
            ? `White ${white}, draw ${draw}, Black ${black}`
            : `${line.mate > 0 ? "White" : "Black"} mates in ${Math.abs(line.mate)}`}
        </span>
      </div>
      <p>
        <button class="quiet move" type="button" onClick={play} title="Play this move">
          {first}
        </button>
        <span class="line-rest">{rest.join(" ")}</span>
      </p>
    </li>
  );
}

function Policy({ seen, play }: { seen: Seen; play: (uci: string) => void }) {
  const most = Math.max(...seen.policy.map((move) => move.share));
  return (
    <>
      <h3>Network's first choices (no search)</h3>
      <ul class="policy figures">
        {seen.policy.map((move) => (
          <li key={move.uci}>
            <button class="quiet move" type="button" onClick={() => play(move.uci)} title="Play this move">
              {move.san}
            </button>
            <span class="policy-track" aria-hidden="true">
              <span style={{ width: `${(100 * move.share) / most}%` }} />
            </span>
            <span>{(100 * move.share).toFixed(1)} %</span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** "1 simulation", "2,000 simulations". */
export function simulations(count: number): string {
  return `${count.toLocaleString("en")} ${count === 1 ? "simulation" : "simulations"}`;
}

/** The moves of a line with the numbers of the game: 12. Nf3 d5 13. d4, or 12… d5 13. d4. */
function numbered(san: string[], fen: string): string[] {
  const [, turn, , , , count] = fen.split(" ");
  const black = turn === "b" ? 1 : 0;
  return san.map((move, at) => {
    const number = Number(count) + Math.floor((at + black) / 2);
    if ((at + black) % 2 === 0) return `${number}. ${move}`;
    return at === 0 ? `${number}… ${move}` : move;
  });
}

function words({ lines, state }: AnalysisState, isOn: boolean): string {
  if (!isOn) return "Paused.";
  if (state === "starting") return "The engine is starting; the first time this takes a minute or two …";
  const [best] = lines;
  if (!best) return state === "" ? "There is nothing to analyse." : "Thinking …";
  const done = `${simulations(best.sims)}, depth ${best.depth}`;
  return state === "done" ? `${done}, finished` : `${done}, ${best.sims_per_s.toLocaleString("en")} a second …`;
}
