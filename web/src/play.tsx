// The page "Play": play against a network, analyse a position with it, and see its spikes.
import "./style/play.css";
import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { useGet } from "./api";
import { hasEngine } from "./engine/client";
import { Empty } from "./parts/empty";
import { Analysis, simulations, useAnalysis } from "./play/analysis";
import { Beginning } from "./play/beginning";
import { ChancesBar } from "./play/chances";
import { Controls } from "./play/controls";
import { MoveList } from "./play/moves";
import { Opponent } from "./play/opponent";
import { PlayBoard } from "./play/play_board";
import { OFFER, type Chances, type Line, type Offer, type Seen } from "./play/server";
import { Replay } from "./play/replay";
import { useSession, type Session } from "./play/session";
import { asPainted, Spikes, type Painted } from "./play/spikes";
import { useSeen } from "./play/seen";
import { Status } from "./play/status";
import { GameText } from "./play/text";

export function Play() {
  const { value, error } = useGet<Offer>(OFFER);
  if (error && !value) return <Empty title="Play">{error.message}</Empty>;
  return value && <Table offer={value} />;
}

function Table({ offer }: { offer: Offer }) {
  const session = useSession(offer);
  const { settings } = session;
  const analysing = settings.mode === "analyse";
  const [flipped, setFlipped] = useState(false);
  const [paint, setPaint] = useState<Painted>({ layer: "", step: 0 });
  const [isOn, setOn] = useState(true);
  const analysis = useAnalysis(session, offer, analysing && isOn);
  const { seen, seenError } = useSeen(session);
  const painted = useMemo(() => asPainted(seen, paint), [seen, paint]);
  useArrows(session);
  useEffect(() => setFlipped(false), [settings.side]);

  const shown = chances(session, analysis.lines, seen);
  return (
    <div class={`play ${analysing ? "analysing" : ""}`}>
      <section class="play-board" aria-label="Board">
        <h1 class="hidden">{analysing ? "Analyse a position" : "Play against a network"}</h1>
        <PlayBoard
          session={session}
          orientation={(settings.side === "black") !== flipped ? "black" : "white"}
          painted={painted}
          lines={analysis.lines}
          seen={analysing ? seen : null}
        />
        <ChancesBar chances={shown?.chances ?? null} source={shown?.source ?? ""} />
        <Status session={session} />
        <Controls session={session} flip={() => setFlipped(!flipped)} />
      </section>
      <div class="play-side">
        <Opponent offer={offer} session={session} />
        {analysing && (
          <Analysis session={session} analysis={analysis} isOn={isOn} turn={setOn} seen={seen} />
        )}
        <MoveList session={session} />
        <Beginning session={session} />
        <GameText session={session} />
        {hasEngine && <Replay />}
      </div>
      <Spikes seen={seen} error={seenError} paint={paint} choose={setPaint} />
    </div>
  );
}

/** White's chances at the shown position from the best source there is, and the name of that source. */
function chances(
  { settings, game, at, expected }: Session,
  lines: Line[],
  seen: Seen | null,
): { chances: Chances; source: string } | null {
  const [best] = settings.mode === "analyse" ? lines : [];
  if (best) return { chances: best, source: searched(best) };
  if (expected && game && at === game.plies.length - 1 && game.turn === settings.side) {
    return { chances: expected, source: searched(expected) };
  }
  const value = seen?.steps ? seen.values[seen.steps - 1] : undefined;
  return value ? { chances: value, source: "no search" } : null;
}

function searched({ sims, mate }: Line): string {
  if (mate !== null) return "proved mate";
  return sims > 1 ? simulations(sims) : "no search";
}

/** Arrow keys go through the game, unless something is being written: from the ply that is seen, so at once. */
function useArrows({ show, at }: Session) {
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, select, textarea, [role=dialog]")) return;
      const goals: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: Infinity };
      const goal = goals[event.key];
      if (goal === undefined) return;
      event.preventDefault();
      show(goal);
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, [at, show]);
}
