// What the network's neurons do at the shown position: asked when one stays there for a moment.
import { useEffect, useState } from "preact/hooks";
import { ask, type Seen } from "./server";
import type { Session } from "./session";
import { movesOf } from "./settings";

const PAUSE_MS = 120;

export function useSeen({ game, at, settings }: Session): { seen: Seen | null; seenError: string } {
  const [seen, setSeen] = useState<Seen | null>(null);
  const [seenError, setError] = useState("");
  useEffect(() => {
    if (!game) return;
    if (game.outcome && !game.outcome.can_go_on && at === game.plies.length - 1) {
      setSeen(null);
      setError("The game is over: there is no move to choose.");
      return;
    }
    const stop = new AbortController();
    const asked = { network: settings.network, start: game.start, moves: movesOf(game, at) };
    const look = async () => {
      try {
        setSeen(await ask<Seen>("/spikes", asked, stop.signal));
        setError("");
      } catch (failure) {
        if (stop.signal.aborted) return;
        setSeen(null);
        setError((failure as Error).message);
      }
    };
    const timer = setTimeout(() => void look(), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [game, at, settings.network]);
  return { seen, seenError };
}
