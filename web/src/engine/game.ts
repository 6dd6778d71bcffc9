// A game in the page: its facts as the server gives them (`vecchess/dash/play/play_game.py`), by chessops.
import { Chess, normalizeMove } from "chessops/chess";
import { chessgroundDests } from "chessops/compat";
import { INITIAL_FEN, makeFen, parseFen } from "chessops/fen";
import { makePgn, parsePgn, parseVariant, type PgnNodeData, type Game as PgnGame } from "chessops/pgn";
import { makeSan, makeSanAndPlay, parseSan } from "chessops/san";
import type { Move, NormalMove } from "chessops/types";
import { makeSquare, makeUci, parseUci } from "chessops/util";
import type { Game, Outcome, Ply } from "../play/server";

export class Refused extends Error {}

export interface Asked {
  start?: string;
  moves?: string[];
  typed?: string | null;
}

export interface PlayedGame {
  start: Chess;
  position: Chess;
  moves: NormalMove[];
  ucis: string[];
  plies: Ply[];
  outcome: Outcome | null;
}

const PROMOTIONS = ["queen", "rook", "bishop", "knight"] as const;
const FIFTY_MOVES_PLIES = 100;
const MOST_PLIES = 1200;

export function readGame({ start = "startpos", moves = [], typed }: Asked): PlayedGame {
  const first = positionOf(start === "startpos" || !start ? INITIAL_FEN : start);
  const game: PlayedGame = { start: first, position: first.clone(), moves: [], ucis: [], plies: [], outcome: null };
  game.plies.push(ply(first, null, null));
  const seen = new Map([[key(first), 1]]);
  if (moves.length + (typed ? 1 : 0) > MOST_PLIES) throw new Refused(`${MOST_PLIES} plies are the most here`);
  for (const [index, uci] of moves.entries()) {
    const move = parseUci(uci);
    if (!move || !game.position.isLegal(move)) throw new Refused(`move ${index + 1}, "${uci}", is not legal there`);
    play(game, move, seen);
  }
  if (typed) {
    const words = typed.trim();
    const san = /^0-0(-0)?[+#]?$/.test(words) ? words.replaceAll("0", "O") : words;
    const move = parseSan(game.position, san) ?? parseUci(words);
    if (!move || !game.position.isLegal(move)) {
      throw new Refused(`"${words}" is no legal move here; write Nf3, exd5, O-O, e8=Q or g1f3`);
    }
    play(game, move, seen);
  }
  game.outcome = outcomeOf(game.position, seen.get(key(game.position))!);
  return game;
}

function play(game: PlayedGame, move: Move, seen: Map<string, number>): void {
  const { position } = game;
  const normal = normalizeMove(position, move) as NormalMove;
  const uci = writeUci(position, normal);
  const san = makeSanAndPlay(position, normal);
  game.moves.push(normal);
  game.ucis.push(uci);
  game.plies.push(ply(position, uci, san));
  seen.set(key(position), (seen.get(key(position)) ?? 0) + 1);
}

/** Castling as the king's move where that says it all, as king takes rook elsewhere. */
export function writeUci(position: Chess, move: NormalMove): string {
  const { board, castles, turn } = position;
  const isCastling = board.get(move.from)?.role === "king" && board[turn].has(move.to);
  if (!isCastling || !isUsual(move.from, move.to) || !castles.castlingRights.has(move.to)) return makeUci(move);
  return makeSquare(move.from) + (makeSquare(move.to)[0] === "h" ? "g" : "c") + makeSquare(move.to)[1];
}

/** Whether king and rook stand where they begin in a normal game. */
function isUsual(king: number, rook: number): boolean {
  return ["a1", "h1", "a8", "h8"].includes(makeSquare(rook)) && makeSquare(king)[0] === "e";
}

/** Whether castling rights are there that only a game of Chess960 has. */
function isChess960({ board, castles }: Chess): boolean {
  const kings = { white: board.kingOf("white")!, black: board.kingOf("black")! };
  return [...castles.castlingRights].some((rook) => !isUsual(kings[board.white.has(rook) ? "white" : "black"], rook));
}

export function positionOf(fen: string): Chess {
  const setup = parseFen(fen.trim());
  if (setup.isErr) throw new Refused(`that FEN cannot be read: ${setup.error.message.toLowerCase()}`);
  const position = Chess.fromSetup(setup.value);
  if (position.isErr) throw new Refused(`no game goes on from that FEN: ${position.error.message.toLowerCase()}`);
  return position.value;
}

export function legalMoves(position: Chess): NormalMove[] {
  const found: NormalMove[] = [];
  for (const [from, targets] of position.allDests()) {
    for (const to of targets) {
      const promotes = position.board.pawn.has(from) && (to < 8 || to >= 56);
      for (const promotion of promotes ? PROMOTIONS : [undefined]) found.push({ from, to, ...(promotion && { promotion }) });
    }
  }
  return found;
}

export function facts(game: PlayedGame): Game {
  const { position, start, plies, outcome } = game;
  const promotions = legalMoves(position).filter((move) => move.promotion);
  return {
    start: makeFen(start.toSetup()),
    plies,
    turn: position.turn,
    targets: Object.fromEntries(chessgroundDests(position)) as Record<string, string[]>,
    promotions: [...new Set(promotions.map((move) => makeUci(move).slice(0, 4)))].sort(),
    outcome,
  };
}

function outcomeOf(position: Chess, repetitions: number): Outcome | null {
  const can_go_on = position.hasDests();
  const drawn = (reason: string): Outcome => ({ result: "1/2-1/2", reason, can_go_on });
  if (position.isCheckmate()) {
    return { result: position.turn === "white" ? "0-1" : "1-0", reason: "checkmate", can_go_on };
  }
  if (position.isInsufficientMaterial()) return drawn("neither side can mate");
  if (position.isStalemate()) return drawn("stalemate");
  if (position.halfmoves >= FIFTY_MOVES_PLIES) return drawn("the fifty-move rule");
  return repetitions >= 3 ? drawn("threefold repetition") : null;
}

function ply(position: Chess, uci: string | null, san: string | null): Ply {
  return { fen: makeFen(position.toSetup()), uci, san, check: position.isCheck() };
}

/** What repeats: all of a FEN but its clocks. */
function key(position: Chess): string {
  return makeFen(position.toSetup(), { epd: true });
}

/** A game from a FEN or a PGN. */
export function readText({ text = "", chess960 }: { text?: string; chess960?: number }): PlayedGame {
  if (chess960 !== undefined) return readGame({ start: chess960Fen(chess960) });
  const words = text.trim();
  if (!words) throw new Refused("there is nothing to read: give a FEN or a PGN");
  if (!words.includes("\n") && !words.includes("[") && words.split("/").length === 8) return readGame({ start: words });
  const games = parsePgn(words);
  if (games.length > 1) throw new Refused("the PGN has several games: give one of them");
  const [game] = games;
  if (!game || (![...game.moves.mainline()].length && !game.headers.has("FEN"))) {
    throw new Refused("that is neither a FEN nor a PGN with moves");
  }
  return readGame(movesOfPgn(game));
}

export function movesOfPgn(game: PgnGame<PgnNodeData>): { start: string; moves: string[] } {
  const variant = game.headers.get("Variant");
  if (parseVariant(variant) !== "chess") throw new Refused(`the PGN cannot be read: ${variant} is not chess`);
  const position = positionOf(game.headers.get("FEN") ?? INITIAL_FEN);
  const first = makeFen(position.toSetup());
  const moves = [...game.moves.mainline()].map(({ san }) => {
    const move = parseSan(position, san);
    if (!move) throw new Refused(`the PGN cannot be read: ${san} is not legal`);
    const uci = makeUci(move);
    position.play(move);
    return uci;
  });
  return { start: first, moves };
}

export function writePgn(asked: Asked & Record<string, string>): string {
  const game = readGame({ start: asked.start!, moves: asked.moves as unknown as string[] });
  const headers = new Map<string, string>([
    ["Event", "vecchess"], ["Site", "?"], ["Date", asked.date ?? "????.??.??"], ["Round", "?"],
    ["White", asked.white ?? "?"], ["Black", asked.black ?? "?"],
    ["Result", game.outcome?.result ?? asked.result ?? "*"],
  ]); // prettier-ignore
  const start = makeFen(game.start.toSetup());
  if (start !== INITIAL_FEN) headers.set("SetUp", "1").set("FEN", start);
  if (isChess960(game.start)) headers.set("Variant", "Chess960");
  const reason = game.outcome?.reason ?? asked.termination;
  if (reason) headers.set("Termination", reason);
  const [first] = parsePgn(`${game.plies.slice(1).map(({ san }) => san).join(" ")} ${headers.get("Result")}`);
  return makePgn({ headers, moves: first!.moves });
}

/** The line of moves as SAN, as far as they are legal. */
export function sans(position: Chess, moves: NormalMove[]): string[] {
  const after = position.clone();
  return moves.map((move) => {
    const san = makeSan(after, move);
    after.play(move);
    return san;
  });
}

/** The start position of a number, 0 to 959: Scharnagl's numbering. */
function chess960Fen(number: number): string {
  const rank: string[] = Array(8).fill("");
  const free = () => [...rank.keys()].filter((file) => !rank[file]);
  rank[2 * (number % 4) + 1] = "b";
  rank[2 * (Math.floor(number / 4) % 4)] = "b";
  rank[free()[Math.floor(number / 16) % 6]!] = "q";
  let knights = Math.floor(number / 96);
  for (let first = 0; first < 4; first++) {
    if (knights < 4 - first) {
      const left = free();
      rank[left[first]!] = rank[left[first + 1 + knights]!] = "n";
      break;
    }
    knights -= 4 - first;
  }
  const [a, b, c] = free() as [number, number, number];
  [rank[a], rank[b], rank[c]] = ["r", "k", "r"];
  const files = [c, a].map((file) => "abcdefgh"[file]!).join("");
  const home = rank.join("");
  return `${home}/pppppppp/8/8/8/8/PPPPPPPP/${home.toUpperCase()} w ${files.toUpperCase()}${files} - 0 1`;
}
