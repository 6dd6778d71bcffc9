// A game on the play page: its state, and the actions that change it.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ask, listen, type Game, type Line, type Offer, type Outcome } from "./server";
import { asAsked, movesOf, other, remember, remembered, strengths, type Settings, type Side } from "./settings";

export type Waiting = "nothing" | "starting" | "thinking";

export interface Session {
  settings: Settings;
  game: Game | null;
  /** The ply that is shown. */
  at: number;
  /** The game up to there: what can be moved; null while the server is asked. */
  place: Game | null;
  outcome: Outcome | null;
  waiting: Waiting;
  /** What the network expected when it moved. */
  expected: Line | null;
  error: string;
  /** Whether the error is one of the network's move, which can be asked for again. */
  canRetry: boolean;
  /** Counts refused moves: the board has to be set anew. */
  refused: number;
  canMove: boolean;
  choose: (change: Partial<Settings>) => void;
  show: (ply: number) => void;
  /** "" where it began, else why not. */
  begin: (how: { text?: string; chess960?: number }, side: Side) => Promise<string>;
  move: (uci: string) => void;
  /** Plays a typed move: "" where it is legal, else why not. */
  playTyped: (typed: string) => Promise<string>;
  takeBack: () => void;
  resign: () => void;
  retry: () => void;
}

/** The moves to take back so that it is the person's turn again. */
function pliesBack(game: Game, settings: Settings): number {
  if (settings.mode === "analyse") return 1;
  return game.turn === settings.side ? 2 : 1;
}

export function useSession(offer: Offer): Session {
  const kept = useRef(remembered()).current;
  const [settings, setSettings] = useState<Settings>(() => sensible(offer, kept));
  const [game, setGame] = useState<Game | null>(null);
  const [at, setAt] = useState(0);
  const [branch, setBranch] = useState<Game | null>(null);
  const [resigned, setResigned] = useState<Side | null>(kept.resigned ?? null);
  const [waiting, setWaiting] = useState<Waiting>("nothing");
  const [expected, setExpected] = useState<Line | null>(null);
  const [error, setError] = useState("");
  const [canRetry, setCanRetry] = useState(false);
  const [refused, setRefused] = useState(0);
  const [tries, setTries] = useState(0);

  const last = game ? game.plies.length - 1 : 0;
  const outcome = game && (game.outcome ?? (resigned ? resignation(resigned) : null));
  const isOver = outcome !== null && (settings.mode === "play" || !outcome.can_go_on);
  const isTheirs = settings.mode === "play" && game !== null && game.turn !== settings.side;
  const place = at === last ? game : branch;
  const canMove = place !== null && !isTheirs && (at === last ? !isOver : settings.mode === "analyse");

  /** Take a game over from the server; returns "", or why it refuses. */
  async function adopt(path: string, body: object): Promise<string> {
    try {
      const next = await ask<Game>(path, body);
      setGame(next);
      setAt(next.plies.length - 1);
      setError("");
      return "";
    } catch (failure) {
      setRefused((count) => count + 1);
      return (failure as Error).message;
    }
  }

  /** The same for a game that goes on from there: who had resigned has not. */
  async function goOn(body: object): Promise<string> {
    const refusal = await adopt("/position", body);
    if (!refusal) setResigned(null);
    return refusal;
  }

  /** The same for what is done on the board: a refusal stands below it. */
  async function goOnOrTell(body: object): Promise<void> {
    setError(await goOn(body));
    setCanRetry(false);
  }

  const here = () => ({ start: game?.start ?? "startpos", moves: game ? movesOf(game, at) : [] });

  useEffect(() => {
    const { start = "startpos", moves = [] } = kept;
    void adopt("/position", { start, moves }).then((refusal) => (refusal ? goOnOrTell({}) : undefined));
  }, []);

  // With what is shown, not a moment later: the page may be left by then.
  useLayoutEffect(() => {
    if (game) remember({ ...settings, start: game.start, moves: movesOf(game), resigned });
  }, [game, settings, resigned]);

  // An earlier position that can be moved on from.
  useEffect(() => {
    setBranch(null);
    if (!game || at === last || settings.mode !== "analyse") return;
    const stop = new AbortController();
    ask<Game>("/position", here(), stop.signal).then(setBranch, () => undefined);
    return () => stop.abort();
  }, [game, at, settings.mode]);

  // The network's turn: asked for whenever it is, dropped when anything about it changes.
  useEffect(() => {
    if (!game || !isTheirs || isOver) return;
    const stop = new AbortController();
    const asked = { ...asAsked(settings.strength), network: settings.network, start: game.start, moves: movesOf(game) };
    setWaiting("thinking");
    setError("");
    listen("/move", asked, stop.signal, (event) => {
      if (stop.signal.aborted) return;
      if (event.state === "starting") setWaiting("starting");
      if (event.game) {
        setExpected(event.line ?? null);
        setGame(event.game);
        setAt(event.game.plies.length - 1);
      }
    })
      .catch((failure: Error) => {
        if (stop.signal.aborted) return;
        setError(failure.message);
        setCanRetry(true);
      })
      .finally(() => stop.signal.aborted || setWaiting("nothing"));
    return () => {
      stop.abort();
      setWaiting("nothing");
    };
  }, [game, isTheirs, isOver, settings.network, settings.strength, tries]);

  return {
    settings,
    game,
    at,
    place,
    outcome,
    waiting,
    expected,
    error,
    canRetry,
    refused,
    canMove,
    choose: (change) => setSettings((old) => sensible(offer, { ...old, ...change })),
    show: (ply) => setAt(Math.max(0, Math.min(last, ply))),
    begin: async (how, side) => {
      const refusal = await adopt("/read", how);
      if (!refusal) {
        setResigned(null);
        setExpected(null);
        setSettings((old) => ({ ...old, side }));
      }
      return refusal;
    },
    move: (uci) => void goOnOrTell({ start: here().start, moves: [...here().moves, uci] }),
    playTyped: (typed) => goOn({ ...here(), typed }),
    takeBack: () => {
      if (!game || last === 0) return;
      setExpected(null);
      void goOnOrTell({ start: game.start, moves: movesOf(game, Math.max(0, last - pliesBack(game, settings))) });
    },
    resign: () => setResigned(settings.side),
    retry: () => {
      setError("");
      setTries((count) => count + 1);
    },
  };
}

/** Settings that make sense with what there is to choose from. */
function sensible(offer: Offer, wanted: Partial<Settings>): Settings {
  const network = offer.networks.find((name) => name === wanted.network) ?? offer.networks[0]!;
  const known = strengths(offer, network).map(([value]) => value);
  const strength = known.find((value) => value === wanted.strength) ?? "s64";
  return { mode: wanted.mode ?? "play", network, strength, side: wanted.side ?? "white" };
}

function resignation(side: Side): Outcome {
  return { result: side === "white" ? "0-1" : "1-0", reason: "resignation", can_go_on: true };
}

/** The winner, from the point of view of the person at the board. */
export function winnerText(outcome: Outcome, settings: Settings): string {
  if (outcome.result === "1/2-1/2") return "A draw";
  const winner: Side = outcome.result === "1-0" ? "white" : "black";
  if (settings.mode === "analyse") return winner === "white" ? "White wins" : "Black wins";
  return winner === other(settings.side) ? "The network won" : "You won";
}
