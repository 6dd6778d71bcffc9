// Self-play as the server plays it: the kernels of `vecchess.selfplay.games`, in the order of its mover.
import type { Memory } from "./memory";

const VACANT = -1n;
/** Places of the kernels' cursor, as in `game_kernel.py`. */
const [CONSUMED, READY, , SUPPLIED, GAMES_DONE, PLIES_DONE, WORDS_DONE] = [0, 1, 2, 3, 4, 5, 6];
const NO_MORE = -1n;
const PLY_WORDS = 3;
const MAX_MOVES = 218;
const OUTCOMES = 3;

/** A game that ended, as the kernel leaves it: words of plies and of searches are packed. */
export interface FinishedGame {
  number: bigint;
  plies: number;
  result: number;
  termination: number;
  resign: number;
  fingerprint: bigint;
  logged: Uint16Array;
  words: Uint32Array;
}

/** Plays the games with `numbers`; calls `use` with each that ends. `pause` is awaited now and then. */
export async function playGames(
  memory: Memory,
  numbers: bigint[],
  use: (game: FinishedGame) => void,
  pause: () => Promise<void> = async () => {},
): Promise<void> {
  const table = memory.array("games.play", "games.number", "i8");
  const waiting = [...numbers];
  let rows = [...table.keys()];
  while (rows.length > 0) {
    const asked = memory.has("games.search") ? search(rows) : advance(rows);
    if (asked.length > 0) answer(memory, "games.answer", "games.answer", asked);
    rows = asked;
    await pause();
  }

  /** Searches in the rows, plays what is decided, and so on until all wait for answers. */
  function search(rows: number[]): number[] {
    let playing = rows.filter((row) => table[row] === VACANT);
    let searching = rows.filter((row) => table[row] !== VACANT);
    for (;;) {
      if (searching.length > 0) {
        memory.fill("games.search", "rows", searching);
        const count = memory.run("games.search");
        const decided = memory.array("games.search", "decided", "i8");
        playing = playing.concat([...decided.subarray(0, count)].map(Number));
      }
      if (playing.length === 0) return takeRequests(memory, "games");
      searching = advance(playing);
      playing = [];
    }
  }

  /** Plays a move in each row; returns those with a request, or with a search to go on. */
  function advance(rows: number[]): number[] {
    const cursor = memory.array("games.play", "cursor", "i8");
    cursor.fill(0n);
    memory.fill("games.play", "rows", rows);
    memory.resize("games.play", "ready", rows.length);
    while (cursor[CONSUMED]! < rows.length) {
      const supply = memory.array("games.play", "supply", "i8");
      const given = waiting.slice(0, supply.length);
      supply.set(given.length > 0 ? given : [NO_MORE]);
      memory.resize("games.play", "supply", Math.max(given.length, 1));
      for (const place of [SUPPLIED, GAMES_DONE, PLIES_DONE, WORDS_DONE]) cursor[place!] = 0n;
      memory.run("games.play");
      if (given.length > 0) waiting.splice(0, Number(cursor[SUPPLIED!]));
      takeFinished(Number(cursor[GAMES_DONE!]));
    }
    return [...memory.array("games.play", "ready", "i4").subarray(0, Number(cursor[READY!]))];
  }

  function takeFinished(count: number): void {
    const column = <Type extends "i8" | "i4" | "i1" | "u1" | "u8" | "u2" | "u4">(name: string, type: Type) =>
      memory.array("games.play", `finished.${name}`, type);
    let [ply, word] = [0, 0];
    for (let game = 0; game < count; game++) {
      const plies = column("plies", "i4")[game]!;
      const words = column("num_words", "i4")[game]!;
      use({
        number: column("number", "i8")[game]!,
        plies,
        result: column("result", "i1")[game]!,
        termination: column("termination", "u1")[game]!,
        resign: column("resign", "u1")[game]!,
        fingerprint: column("fingerprint", "u8")[game]!,
        logged: column("logged", "u2").slice(PLY_WORDS * ply, PLY_WORDS * (ply + plies)),
        words: column("words", "u4").slice(word, word + words),
      });
      ply += plies;
      word += words;
    }
  }
}

/** The rows for which a search has written requests since the last call. */
export function takeRequests(memory: Memory, forest: string): number[] {
  const at = memory.facts.forests[forest]!;
  const count = memory.field("ForestRecord", at, "num_requested");
  memory.setField("ForestRecord", at, "num_requested", 0);
  return [...memory.at(memory.field("ForestRecord", at, "requested_rows"), count, "i4")];
}

/** Has the network answer rows of the requests of `call`. */
export function answer(memory: Memory, call: string, requests: string, rows: number[]): void {
  const policy = memory.array(requests, "requests.policy", "i4");
  const wdl = memory.array(requests, "requests.wdl", "i4");
  const steps = memory.array(requests, "requests.steps", "u1");
  for (const row of rows) {
    policy.fill(0, row * MAX_MOVES, (row + 1) * MAX_MOVES);
    wdl.fill(0, row * OUTCOMES, (row + 1) * OUTCOMES);
    steps[row] = 0;
  }
  memory.fill(call, "rows", rows);
  memory.run(call);
}
