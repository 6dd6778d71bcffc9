// What the engine thinks of a position: the network's answer, searches, lines and spikes.
import type { Chess } from "chessops/chess";
import type { NormalMove } from "chessops/types";
import type { Chances, Line, Seen } from "../play/server";
import { legalMoves, Refused, sans, writeUci, type PlayedGame } from "./game";
import type { Memory } from "./memory";
import { answer, takeRequests } from "./selfplay";

const UNIT = 2 ** 24;
const ACTION_MASK = 0x1fff;
const [EDGE_WON, EDGE_LOST] = [1 << 15, 1 << 14];
const [WON, LOST, EXPANDED] = [1, 2, 8];
const NO_NODE = -1;
const UNDERPROMOTION = 64;
const UNDERPROMOTIONS = ["knight", "bishop", "rook"];
const NODE_BYTES = 64;
const EDGE_BYTES = 16;
const LINES = 3;
const SHOWN_PLIES = 12;
const TOP_MOVES = 5;
/** Simulations between two looks at whether the page wants something else. */
const STRIDE = 64;

export interface Evaluation {
  moves: NormalMove[];
  /** Probability of each move. */
  policy: number[];
  value: Chances;
  steps: number;
}

export class Thinker {
  constructor(private readonly memory: Memory) {}

  /** Sets up the position behind the moves of a game: the question, and the board of the searches. */
  private setUp({ start, position, moves }: PlayedGame): NormalMove[] {
    const { memory } = this;
    const legal = legalMoves(position);
    const [any] = legal;
    if (!any) throw new Refused("the game is over: there is no legal move");
    memory.array("position", "starts", "u8").set(words(start));
    const played = [...moves, any];
    const actions = memory.array("position", "actions", "u2");
    played.forEach((move, index) => (actions[index] = this.action(move, (start.turn === "black") !== (index % 2 === 1))));
    memory.array("position", "offsets", "i8").set([0n, BigInt(played.length)]);
    memory.array("position", "wanted", "i8").set([BigInt(moves.length)]);
    if (memory.run("position") !== -1) throw new Error("the kernels and chessops disagree about a move");
    const byAction = new Map(legal.map((move) => [this.action(move, position.turn === "black"), move]));
    const count = memory.array("position", "rows.2", "u1")[0]!;
    return [...memory.array("position", "rows.1", "u2").subarray(0, count)].map((action) => byAction.get(action)!);
  }

  /** AlphaZero's code of a move, as its mover sees it (`vecchess/chess/action.py`). */
  private action({ from, to, promotion }: NormalMove, isBlack: boolean): number {
    const flip = isBlack ? 56 : 0;
    const [square, goal] = [from ^ flip, to ^ flip];
    const under = UNDERPROMOTIONS.indexOf(promotion ?? "");
    if (under >= 0) return (UNDERPROMOTION + 3 * under + goal - square - 7) * 64 + square;
    return this.memory.at(this.memory.facts.actions, 4096, "u2")[square | (goal << 6)]!;
  }

  evaluate(game: PlayedGame): Evaluation {
    const moves = this.setUp(game);
    answer(this.memory, "answer", "answer", [0]);
    return this.answered(moves, game.position.turn === "white");
  }

  private answered(moves: NormalMove[], isWhite: boolean): Evaluation {
    const { policy_scale, value_scale } = this.memory.facts;
    const steps = this.memory.array("answer", "requests.steps", "u1")[0]!;
    const policy = softmax([...this.memory.array("answer", "requests.policy", "i4").subarray(0, moves.length)], policy_scale / steps);
    const [own, draw, other] = softmax([...this.memory.array("answer", "requests.wdl", "i4")], value_scale / steps) as [number, number, number];
    return { moves, policy, value: isWhite ? { win: own, draw, loss: other } : { win: other, draw, loss: own }, steps };
  }

  /** Searches on until `sims` simulations; yields now and then, and at the end. The tree is new. Others may use
   * all but the tree meanwhile. */
  async *search(game: PlayedGame, sims: number): AsyncGenerator<void> {
    const { memory } = this;
    memory.run("tree.free");
    memory.setField("ForestRecord", this.forest, "max_depth", 0);
    for (let budget = Math.min(STRIDE, sims); ; budget = Math.min(sims, budget + STRIDE)) {
      this.setUp(game);
      memory.setNumber("tree.begin", "budget", budget);
      memory.run("tree.begin");
      memory.fill("tree.search", "rows", [0]);
      while (memory.run("tree.search") === 0) answer(memory, "answer", "answer", takeRequests(memory, "tree"));
      yield;
      if (budget >= sims || this.root.state & (WON | LOST) || this.root.visits <= budget - STRIDE) return;
    }
  }

  /** The move that the last search, which is over, decided on. */
  decided(game: PlayedGame): NormalMove {
    this.memory.run("tree.decide");
    const action = this.memory.field("DecisionRecord", Number(this.memory.number("tree.decide", "decisions")), "action");
    return this.meant(game.position, action);
  }

  /** The best lines of the tree as the last search has it. */
  lines({ position }: PlayedGame, seconds: number): Line[] {
    const { root } = this;
    const depth = this.memory.field("ForestRecord", this.forest, "max_depth");
    const visits = Math.max(0, root.visits - 1);
    const isWhite = position.turn === "white";
    return this.visited(root.index)
      .slice(0, LINES)
      .map((move) => {
        const moves = this.follow(position, move);
        const [own, draw] = move.outcome ? [Number(move.outcome > 0), 0] : [move.win, move.draw];
        const other = 1 - own - draw;
        const plies = move.distance + 1;
        const mate = move.outcome > 0 ? Math.ceil(plies / 2) : -Math.floor(plies / 2);
        return {
          uci: moves[0] ? writeUci(position, moves[0]) : null,
          san: sans(position, moves),
          win: isWhite ? own : other,
          draw,
          loss: isWhite ? other : own,
          mate: move.outcome ? (isWhite ? mate : -mate) : null,
          sims: visits,
          depth,
          sims_per_s: Math.round(visits / Math.max(seconds, 1e-3)),
        };
      });
  }

  private follow(position: Chess, first: Visited): NormalMove[] {
    const moves: NormalMove[] = [];
    const after = position.clone();
    const make = (action: number) => {
      moves.push(this.meant(after, action));
      after.play(moves.at(-1)!);
    };
    for (let next: Visited | undefined = first; next && moves.length < SHOWN_PLIES; ) {
      const { action, child }: Visited = next;
      make(action);
      [next] = this.visited(child);
      const last = this.node(child);
      if (last.state & WON && !(last.state & EXPANDED) && last.field("distance") === 1) make(last.field("mating_action"));
    }
    return moves.slice(0, SHOWN_PLIES);
  }

  /** The legal move of an action. */
  private meant(position: Chess, action: number): NormalMove {
    return legalMoves(position).find((move) => this.action(move, position.turn === "black") === action)!;
  }

  private get forest(): number {
    return this.memory.facts.forests["tree"]!;
  }

  private get root() {
    const trees = this.memory.field("ForestRecord", this.forest, "trees");
    const index = this.memory.field("TreeRecord", trees, "root");
    return { index, ...this.node(index) };
  }

  private node(index: number) {
    const place = this.memory.field("ForestRecord", this.forest, "nodes") + NODE_BYTES * index;
    const field = (name: string) => this.memory.field("NodeRecord", place, name);
    return { visits: field("visits"), state: field("state"), field };
  }

  /** The visited moves of a node, the best first, as `vecchess.search.principal_variations` has them. */
  private visited(index: number): Visited[] {
    const { field, state } = this.node(index);
    if (!(state & EXPANDED)) return [];
    const edges = this.memory.field("ForestRecord", this.forest, "edges");
    const found: Visited[] = [];
    for (let edge = 0; edge < field("num_opened"); edge++) {
      const place = edges + EDGE_BYTES * (field("first_edge") + edge);
      const child = this.memory.field("EdgeRecord", place, "child");
      if (child === NO_NODE) continue;
      const node = this.node(child);
      if (node.visits === 0) continue;
      const word = this.memory.field("EdgeRecord", place, "word");
      const unit = node.visits * UNIT;
      const [draw, value] = [node.field("draw_sum") / unit, -node.field("value_sum") / unit];
      const outcome = word & EDGE_WON ? 1 : word & EDGE_LOST ? -1 : 0;
      found.push({
        action: word & ACTION_MASK,
        child,
        visits: node.visits,
        value: outcome || value,
        win: Math.min(Math.max((1 - draw + value) / 2, 0), 1 - draw),
        draw,
        outcome,
        distance: node.field("distance"),
      });
    }
    return found.sort(
      (a, b) => b.outcome - a.outcome || a.distance * a.outcome - b.distance * b.outcome || b.visits - a.visits || b.value - a.value,
    );
  }

  /** Spikes of every layer at every time step, values step by step, and the first choices. */
  trace(game: PlayedGame): Seen {
    const { memory } = this;
    const { facts } = memory;
    const { position } = game;
    const isWhite = position.turn === "white";
    const { steps, policy, moves } = this.evaluate(game);
    const order = [...policy.keys()].sort((a, b) => policy[b]! - policy[a]!).slice(0, TOP_MOVES);
    const values = Array.from({ length: facts.time_steps }, (_, step) => this.valueAfter(step + 1, moves, isWhite));
    const layers = memory.has("trace") ? facts.layers : [];
    return {
      line: "",
      time_steps: facts.time_steps,
      steps,
      layers: layers.map(([name, channels], index) => this.layer(name, channels, index, isWhite)),
      values,
      policy: order.map((index) => ({
        uci: writeUci(position, moves[index]!),
        san: sans(position, [moves[index]!])[0]!,
        share: policy[index]!,
      })),
    };
  }

  /** The value after so many time steps, exits or not. */
  private valueAfter(steps: number, moves: NormalMove[], isWhite: boolean): Chances {
    const { memory } = this;
    const rule = memory.array("answer", "rule", "i8");
    const [least, earliest] = [rule[0]!, memory.number("answer", "earliest")];
    const set = (first: bigint, together: bigint, all: number) => {
      rule[0] = first;
      memory.setNumber("answer", "earliest", together);
      memory.setNumber("answer", "network.time_steps", all);
    };
    set(BigInt(steps), BigInt(steps), steps);
    answer(memory, "answer", "answer", [0]);
    set(least, earliest, memory.facts.time_steps);
    return this.answered(moves, isWhite).value;
  }

  /** Spikes of a layer: those of the network cut behind it; the last is that of the last answer. */
  private layer(name: string, channels: number, index: number, isWhite: boolean) {
    const { memory } = this;
    const call = index + 1 < memory.facts.layers.length ? "trace" : "answer";
    if (call === "trace") {
      memory.resize("trace", "network.convolutions.outputs", index + 1);
      answer(memory, "trace", "trace", [0]);
    }
    const halves = memory.array(call, "scratch.halves", "u4");
    const width = 2 * Math.ceil(channels / 64);
    const row = halves.length / memory.facts.time_steps;
    const squares = Array.from({ length: memory.facts.time_steps }, (_, step) =>
      Array.from({ length: 64 }, (_, square) => {
        const first = step * row + (square ^ (isWhite ? 0 : 56)) * width;
        return halves.subarray(first, first + width).reduce((total, word) => total + popcount(word), 0);
      }),
    );
    const shares = squares.map((counts) => counts.reduce((a, b) => a + b, 0) / (64 * channels));
    return { name, channels, shares, squares };
  }
}

interface Visited {
  action: number;
  child: number;
  visits: number;
  value: number;
  win: number;
  draw: number;
  /** 1: proven to win, -1: to lose, else 0. */
  outcome: number;
  distance: number;
}

/** The eight words of a position (`vecchess/chess/position.py`). */
function words(position: Chess): bigint[] {
  const { board, turn, castlingRights, epSquare, halfmoves, fullmoves } = position.toSetup();
  const isBlack = turn === "black";
  const word = ({ lo, hi }: { lo: number; hi: number }) => {
    const bits = BigInt.asUintN(64, (BigInt(hi) << 32n) | BigInt(lo >>> 0));
    return isBlack ? turned(bits) : bits;
  };
  const special = word(castlingRights) | (epSquare === undefined ? 0n : 1n << BigInt(epSquare ^ (isBlack ? 56 : 0)));
  const ply = 2 * (fullmoves - 1) + Number(isBlack);
  return [
    word(board[turn]), word(board.pawn), word(board.knight), word(board.bishop.union(board.queen)),
    word(board.rook.union(board.queen)), word(board.king), special,
    (BigInt(isBlack) << 63n) | (BigInt(ply) << 16n) | BigInt(Math.min(halfmoves, 100)),
  ]; // prettier-ignore
}

/** The board turned round: the bytes in the other order. */
function turned(bits: bigint): bigint {
  let result = 0n;
  for (let rank = 0n; rank < 8n; rank++) result |= ((bits >> (8n * rank)) & 0xffn) << (8n * (7n - rank));
  return result;
}

function softmax(sums: number[], scale: number): number[] {
  const most = Math.max(...sums);
  const odds = sums.map((sum) => Math.exp((sum - most) * scale));
  const total = odds.reduce((a, b) => a + b, 0);
  return odds.map((odd) => odd / total);
}

function popcount(word: number): number {
  let left = word - ((word >>> 1) & 0x55555555);
  left = (left & 0x33333333) + ((left >>> 2) & 0x33333333);
  return (((left + (left >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
}
