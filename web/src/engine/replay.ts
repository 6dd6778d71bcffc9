// Recorded games of self-play, played again in the page and compared bit for bit (`vecchess replay` on the server).
import { parsePgn } from "chessops/pgn";
import { unzipSync } from "fflate";
import type { Memory } from "./memory";
import { playGames, type FinishedGame } from "./selfplay";

export interface Comparison {
  games: number;
  done: number;
  plies: number;
  identical: number;
  /** The first differences, in words. */
  differences: string[];
}

type Column = { [index: number]: number | bigint; length: number };

/** A recorded game: one value a ply of each column, and what is known of the game as a whole. */
interface Recorded {
  number: bigint;
  plies: number;
  whole: Record<string, number | bigint>;
  columns: Record<string, Column>;
}

const PLY_COLUMNS = ["action", "steps", "win", "draw", "prob", "tag", "visits", "full", "thought"];
const TARGETS = ["target_action", "target_prob"];
const MOST_DIFFERENCES = 10;
const MOST_BYTES = 1 << 28;

/** Plays the games of a shard, or of a PGN written with bits, again; yields how far it is. */
export async function* compareGames(memory: Memory, file: File, isStopped: () => boolean): AsyncGenerator<Comparison> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const games = bytes[0] === 0x50 && bytes[1] === 0x4b ? gamesOfShard(memory, bytes) : gamesOfPgn(memory, bytes);
  const found: Comparison = { games: games.length, done: 0, plies: 0, identical: 0, differences: [] };
  yield { ...found };
  for (const game of games) {
    const played: FinishedGame[] = [];
    // a game that was stopped ends first
    const use = (ended: FinishedGame) => void (ended.number === game.number && played.push(ended));
    await playGames(memory, [game.number], use, async () => {
      await new Promise<void>((go) => setTimeout(go));
      if (isStopped()) throw new Error("stopped");
    });
    const difference = compared(memory, game, played[0]!);
    found.done += 1;
    found.plies += played[0]!.plies;
    if (!difference) found.identical += 1;
    else if (found.differences.length < MOST_DIFFERENCES) found.differences.push(`game ${game.number}: ${difference}`);
    yield { ...found };
  }
}

/** The first difference of a game played again from its record, "" where there is none. */
function compared(memory: Memory, game: Recorded, now: FinishedGame): string {
  const again = unpacked(memory, now);
  for (let ply = 0; ply < Math.min(game.plies, now.plies); ply++) {
    for (const [name, recorded] of Object.entries(game.columns)) {
      if (TARGETS.includes(name) || name === "target_offsets") continue;
      if (recorded[ply] !== again[name]![ply]) return `ply ${ply}: ${name} is ${again[name]![ply]}, recorded ${recorded[ply]}`;
    }
    for (const name of TARGETS.filter((each) => each in game.columns)) {
      const [first, end] = [0, 1].map((next) => Number(game.columns.target_offsets![ply + next]));
      const from = Number(again.target_offsets![ply]);
      if (end! - first! !== Number(again.target_offsets![ply + 1]) - from) return `ply ${ply}: the target has other moves`;
      for (let place = first!; place < end!; place++) {
        if (game.columns[name]![place] !== again[name]![from + place - first!]) return `ply ${ply}: ${name} differs`;
      }
    }
  }
  if (game.plies !== now.plies) return `${now.plies} plies, recorded ${game.plies}`;
  const whole: Record<string, number | bigint> = { ...now } as never;
  const other = Object.keys(game.whole).find((name) => game.whole[name] !== whole[name]);
  return other ? `${other} is ${whole[other]}, recorded ${game.whole[other]}` : "";
}

/** The columns of a finished game, by the kernels that write shards. */
function unpacked(memory: Memory, game: FinishedGame): Record<string, Column> {
  memory.array("games.plies", "plies", "u2").set(game.logged);
  memory.resize("games.plies", "plies", game.plies);
  memory.run("games.plies");
  const names = ["action", "steps", "win", "draw", "prob", "tag"];
  const types = ["u2", "u1", "u2", "u2", "f4", "u1"] as const;
  const columns: Record<string, Column> = {};
  names.forEach((name, index) => (columns[name] = memory.array("games.plies", `columns.${index}`, types[index]!).slice(0, game.plies)));
  memory.array("games.heads", "words", "u4").set(game.words);
  for (const call of ["games.heads", "games.moves"]) {
    memory.array(call, "word_offsets", "i8").set([0n, BigInt(game.words.length)]);
    memory.array(call, "ply_offsets", "i8").set([0n, BigInt(game.plies)]);
  }
  const searched = ["visits", "full", "thought", "target_offsets"];
  const kinds = ["u4", "u1", "u4", "i8"] as const;
  const found = searched.map((_, index) => memory.array("games.heads", `columns.${index}`, kinds[index]!));
  for (const column of found) column.fill((typeof column[0] === "bigint" ? 0n : 0) as never);
  memory.run("games.heads");
  const offsets = found[3] as BigInt64Array;
  for (let ply = 0; ply < game.plies; ply++) offsets[ply + 1]! += offsets[ply]!;
  memory.run("games.moves");
  searched.forEach((name, index) => (columns[name] = found[index]!.slice(0, game.plies + 1)));
  TARGETS.forEach((name, index) => {
    columns[name] = memory.array("games.moves", `targets.${index + 1}`, "u2").slice(0, Number(offsets[game.plies]));
  });
  return columns;
}

function gamesOfPgn(memory: Memory, bytes: Uint8Array): Recorded[] {
  const games = parsePgn(new TextDecoder().decode(bytes));
  return games.map(({ headers, moves, comments: before }) => {
    requireSame(memory, headers.get("Rules"), headers.get("NetSha"));
    const bits = [before?.[0] ?? "", ...[...moves.mainline()].map(({ comments }) => comments?.[0] ?? "")];
    const rows = bits.map((text) => /\[%bits ([0-9a-f,]+)\]/.exec(text)?.[1]?.split(",").map((hex) => parseInt(hex, 16)));
    const known = rows.filter((row): row is number[] => row !== undefined);
    const number = headers.get("Round");
    if (!number || known.length === 0) throw new Error("the PGN has no bits: write it with `vecchess export pgn RUN --bits`");
    const column = (place: number) => known.map((row) => row[place]!);
    const columns: Record<string, Column> = Object.fromEntries(PLY_COLUMNS.map((name, place) => [name, column(place)]));
    columns.prob = new Float32Array(new Uint32Array(column(PLY_COLUMNS.indexOf("prob"))).buffer);
    const fingerprint = BigInt(`0x${headers.get("Fingerprint") ?? "0"}`);
    return { number: BigInt(number), plies: known.length, whole: { fingerprint }, columns };
  });
}

function requireSame(memory: Memory, rules: string | undefined, net: string | undefined): void {
  if (net !== undefined && net !== memory.facts.net) {
    throw new Error(`these games were played by another network, ${net.slice(0, 12)}: export the page with it`);
  }
  if (rules !== undefined && rules !== memory.facts.rules) {
    throw new Error("these games were played by other rules: export the page with --run and their run");
  }
}

function gamesOfShard(memory: Memory, bytes: Uint8Array): Recorded[] {
  const shard = readNpz(bytes);
  const column = (name: string) => {
    const found = shard.get(name);
    if (!found) throw new Error(`the file is no shard of games: it has no ${name}`);
    return found;
  };
  const nets = column("nets") as unknown as string[];
  if (nets.length !== 1) throw new Error("several networks played these games; a page has one");
  requireSame(memory, undefined, nets[0]);
  const [offsets, numbers] = [column("offsets"), column("numbers")];
  return Array.from({ length: numbers.length }, (_, game) => {
    const [first, end] = [Number(offsets[game]), Number(offsets[game + 1])];
    const part = (name: string, more = 0) => (column(name) as unknown as Float32Array).subarray(first, end + more);
    const columns: Record<string, Column> = Object.fromEntries(PLY_COLUMNS.map((name) => [name, part(name)]));
    columns.target_offsets = part("target_offsets", 1);
    for (const name of TARGETS) columns[name] = column(name);
    const whole = Object.fromEntries(["result", "termination", "resign", "fingerprint"].map((name) => [name, column(name)[game]!]));
    return { number: numbers[game] as bigint, plies: end - first, whole, columns };
  });
}

const NPY = {
  i1: Int8Array, u1: Uint8Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array, i8: BigInt64Array, u8: BigUint64Array, f4: Float32Array,
}; // prettier-ignore

/** The arrays of an npz file: a zip of npy files. */
function readNpz(bytes: Uint8Array): Map<string, Column> {
  let total = 0;
  const fits = ({ originalSize }: { originalSize: number }) => {
    if ((total += originalSize) > MOST_BYTES) throw new Error("the shard is too large for a page");
    return true;
  };
  const files = Object.entries(unzipSync(bytes, { filter: fits }));
  return new Map(files.map(([name, raw]) => [name.replace(/\.npy$/, ""), readNpy(raw as Uint8Array<ArrayBuffer>)]));
}

function readNpy(raw: Uint8Array<ArrayBuffer>): Column {
  const length = 10 + (raw[8]! | (raw[9]! << 8));
  const head = new TextDecoder().decode(raw.subarray(10, length));
  const kind = /'descr': '[<|=]([^']+)'/.exec(head)?.[1] ?? "";
  const data = raw.slice(length).buffer;
  if (kind.startsWith("U")) {
    const [width, codes] = [Number(kind.slice(1)), new Uint32Array(data)];
    const texts = Array.from({ length: codes.length / width }, (_, index) =>
      String.fromCodePoint(...codes.subarray(index * width, (index + 1) * width)).replace(/\0+$/, ""),
    );
    return texts as unknown as Column;
  }
  const items = NPY[kind as keyof typeof NPY];
  if (!items) throw new Error(`a column of the shard has the type ${kind}`);
  return new items(data);
}
