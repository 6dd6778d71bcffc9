// The page's engine in node, for tests: node engine.mjs KERNELS IMAGE, then a command as JSON; prints JSON.
import { createHash } from "node:crypto";
import { openAsBlob, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { facts, readGame, readText, writePgn } from "../../web/src/engine/game";
import { Memory } from "../../web/src/engine/memory";
import { compareGames } from "../../web/src/engine/replay";
import { answer, playGames, type FinishedGame } from "../../web/src/engine/selfplay";
import { Thinker } from "../../web/src/engine/think";

const [kernels, image, text] = process.argv.slice(2) as [string, string, string];
const asked = JSON.parse(text);
const memory = await Memory.load(new Uint8Array(readFileSync(kernels)), new Uint8Array(gunzipSync(readFileSync(image))));
const thinker = new Thinker(memory);

/** Games that ended, by number, in one hash; `tests/browser/games.py` makes the same. */
async function games(count: number) {
  const ended: FinishedGame[] = [];
  const start = performance.now();
  await playGames(memory, [...Array(count).keys()].map(BigInt), (game) => void ended.push(game));
  const seconds = (performance.now() - start) / 1000;
  ended.sort((one, other) => Number(one.number - other.number));
  const hash = createHash("sha256");
  for (const { number, plies, result, termination, resign, fingerprint, logged, words } of ended) {
    const head = Buffer.alloc(23);
    head.writeBigInt64LE(number, 0);
    head.writeInt32LE(plies, 8);
    [result & 0xff, termination, resign].forEach((byte, index) => head.writeUInt8(byte, 12 + index));
    head.writeBigUInt64LE(fingerprint, 15);
    for (const part of [head, logged, words]) hash.update(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
  }
  return { games: ended.length, plies: ended.reduce((sum, game) => sum + game.plies, 0), seconds, sha256: hash.digest("hex") };
}

/** The network's sums at the end of each game. */
function sums(list: { start: string; moves: string[] }[]) {
  return list.map((game) => {
    const { moves } = thinker.evaluate(readGame(game));
    const part = (name: string, type: "i4" | "u1" | "u2") => memory.array("answer", `requests.${name}`, type);
    const policy = [...part("policy", "i4").subarray(0, moves.length)];
    return { policy, legal: [...part("legal", "u2").subarray(0, moves.length)], wdl: [...part("wdl", "i4")], steps: part("steps", "u1")[0] };
  });
}

async function search(games: { start: string; moves: string[] }[], sims: number) {
  const found = [];
  for (const game of games) {
    const played = readGame(game);
    for await (const _ of thinker.search(played, sims));
    found.push({ move: thinker.decided(played), lines: thinker.lines(played, 1) });
  }
  return found;
}

/** Stops late in the second game or a later one, then compares all: begun anew, the first game ends after the stopped one. */
async function replay(path: string) {
  const file = (await openAsBlob(path)) as File;
  let [done, first, later, last] = [0, 0, 0, undefined as unknown];
  const isStopped = () => {
    if (done === 0) first += 1;
    else later += 1;
    return later > 0.75 * first;
  };
  try {
    for await (const event of compareGames(memory, file, isStopped)) done = event.done;
  } catch (error) {
    if ((error as Error).message !== "stopped") throw error;
  }
  for await (const event of compareGames(memory, file, () => false)) last = event;
  return last;
}

/** Positions a second of the network alone, the best of some rounds over the rows of self-play. */
async function speed(rounds: number) {
  const rows = [...memory.array("games.answer", "rows", "i4").keys()];
  let turns = 0;
  const enough = new Error();
  const stop = async () => {
    if (++turns === 12) throw enough;
  };
  await playGames(memory, rows.map(BigInt), () => undefined, stop).catch((error) => {
    if (error !== enough) throw error;
  });
  const spent = Array.from({ length: rounds }, () => {
    const start = performance.now();
    answer(memory, "games.answer", "games.answer", rows);
    return performance.now() - start;
  }).sort((one, other) => one - other);
  return { rows: rows.length, positions_per_s: (1000 * rows.length) / spent[Math.floor(rounds / 2)]! };
}

/** The moves of a game with the one that is typed, or why it is refused. */
function movesOrRefusal(game: never): string[] {
  try {
    return readGame(game).ucis;
  } catch (error) {
    return [(error as Error).message];
  }
}

const commands: Record<string, () => unknown> = {
  games: () => games(asked.count),
  sums: () => sums(asked.games),
  search: () => search(asked.games, asked.sims),
  trace: () => asked.games.map((game: never) => thinker.trace(readGame(game))),
  facts: () => asked.games.map((game: never) => facts(readGame(game))),
  typed: () => asked.games.map((game: never) => movesOrRefusal(game)),
  read: () => asked.texts.map((text: string) => facts(readText({ text }))),
  chess960: () => [...Array(960).keys()].map((chess960) => facts(readText({ chess960 })).start),
  pgn: () => writePgn(asked.game),
  replay: () => replay(asked.path),
  speed: () => speed(asked.rounds),
};
try {
  console.log(JSON.stringify(await commands[asked.command]!()));
} catch (error) {
  console.log(JSON.stringify({ error: (error as Error).message }));
}
