"""The tree of one position as Python objects: what both scalar searches share.

Slow and plain on purpose: one position at a time, one simulation after the other. The batched
search has to come to the same numbers to the bit. Values are integers in 1 / ``UNIT`` from the
view of the node's mover, probabilities and scores float64, except where float32 is named.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tests.search.table_backend import POLICY_SCALE, VALUE_SCALE, answer
from vecchess.chess.action import actions_to_moves, moves_to_actions
from vecchess.chess.history import REPEATED_SHIFT
from vecchess.chess.make import make
from vecchess.chess.movegen import legal_moves
from vecchess.chess.planes import NUM_PLANES, encode_planes
from vecchess.chess.position import CLOCK_MASK, PLY_SHIFT, position_keys
from vecchess.chess.rules import Termination, terminations
from vecchess.config import TreeConfig
from vecchess.search.kernels.sampling import LOG2_E, softmax_weights

UNIT = 1 << 24
WON, LOST, UNPROVEN = 1, -1, 0
Position = NDArray[np.uint64]


@dataclass(eq=False)
class Edge:
    """A legal move; ``word`` is its prior in 16 bits << 16 | action, and sorts the moves."""

    word: int
    child: "Node | None" = None

    @property
    def action(self) -> int:
        return self.word & 0xFFFF

    @cached_property
    def prior(self) -> float:
        return decode_prior(self.word >> 16)

    @property
    def visits(self) -> int:
        return self.child.visits if self.child else 0

    @property
    def proof(self) -> int:
        """What the move is proven to be for the side that makes it."""
        return -self.child.proof if self.child else UNPROVEN

    @property
    def q(self) -> float:
        """Mean value of the child in float32, seen by the side that moves there."""
        assert self.child
        if self.proof:
            return float(self.proof)
        return float(np.float32(-(self.child.value_sum / self.child.visits) / UNIT))


@dataclass(eq=False)
class Node:
    """A position in the tree. ``unopened`` moves are in the order in which they will open."""

    position: Position  # uint64[8]
    keys: list[int]  # since the last capture or pawn move, its own the last
    depth: int
    before: list[Position]  # up to seven positions before, the nearest the last
    is_over: bool = False
    value: int = 0  # the first answer's, with the draw score in it
    draw: int = 0
    visits: int = 0
    value_sum: int = 0
    draw_sum: int = 0
    opened: list[Edge] = field(default_factory=list)
    unopened: list[Edge] = field(default_factory=list)
    proof: int = UNPROVEN
    distance: int = 0  # plies to the mate, if proven

    @property
    def unopened_mass(self) -> float:
        return sum(edge.prior for edge in self.unopened)


@dataclass(frozen=True)
class Question:
    """One move to search: the position, how, and what the random numbers depend on."""

    config: TreeConfig
    position: Position
    keys: NDArray[np.uint64] | None = None
    past: NDArray[np.uint64] | None = None
    planes: int = NUM_PLANES  # that the network sees
    seed: int = 0
    number: int = 0
    ply: int = 0
    temperature: float = 1.0
    explore: bool = True

    def counter(self, edge: Edge) -> int:
        """Counter of the first random number of a move at the root."""
        return 1 << 40 | self.ply << 24 | edge.action << 8


@dataclass(frozen=True)
class Result:
    """What a search found; ``edges`` are (action, visits, q or None, prior)."""

    action: int
    prob: float
    win: float
    draw: float
    steps: int
    edges: list[tuple[int, int, float | None, float]]
    target: list[tuple[int, int]]

    @property
    def visits(self) -> int:
        return sum(edge[1] for edge in self.edges)


class Tree:
    """Simulations from one root."""

    def __init__(self, question: Question) -> None:
        """The root with its answer, visited once."""
        self.config, self.steps, self.planes = question.config, 0, question.planes
        clock = int(question.position[7]) & CLOCK_MASK
        earlier = question.keys[:clock].tolist() if question.keys is not None else [0] * clock
        before = []
        if question.past is not None:
            ply = ply_of(question.position)
            before = [question.past[(ply - plies) % 8] for plies in range(7, 0, -1)]
        keys = [*earlier, key_of(question.position)]
        self.root = Node(question.position, keys, 0, before)
        self._ask(self.root)
        _back_up([self.root])

    def simulate(self, choose: Callable[[Node], Edge]) -> None:
        """Walk down the chosen edges to a new node or an end; add what is found to the path."""
        path = [self.root]
        while path[-1].visits and not path[-1].is_over and not path[-1].proof:
            edge = choose(path[-1])
            if edge.child is None:
                self.open(path[-1], edge)
            assert edge.child
            path.append(edge.child)
        _back_up(path)
        if path[-1].proof:
            _prove(path[:-1])

    def proven_move(self) -> Edge | None:
        """The quickest win or the slowest loss, where the root is proven to be one."""
        sign = -self.root.proof
        ends = [edge for edge in self.root.opened if edge.proof == self.root.proof != UNPROVEN]
        return max(ends, key=lambda edge: sign * edge.child.distance, default=None)

    def mean(self) -> tuple[float, float]:
        """Value and draw, the mean of all simulations."""
        unit = self.root.visits * UNIT
        return self.root.value_sum / unit, self.root.draw_sum / unit

    def result(
        self, best: Edge, prob: float, shares: list[tuple[Edge, float]], found: tuple[float, float]
    ) -> Result:
        """``shares`` is the policy target, ``found`` the root's value and draw."""
        root, (value, draw) = self.root, found
        value -= round(self.config.draw_score * 65536) / 65536 * draw
        if root.proof:
            draw, value = 0.0, float(root.proof)
        root.unopened.sort(key=lambda edge: -edge.word)
        edges = [
            (edge.action, edge.visits, edge.q if edge.child else None, edge.prior)
            for edge in [*root.opened, *root.unopened]
        ]
        entries = [(edge.action, int(share * 65535 + 0.5)) for edge, share in shares]
        target = [entry for entry in entries if entry[1] > 0]
        win = (1 - draw + value) / 2
        return Result(best.action, float(np.float32(prob)), win, draw, self.steps, edges, target)

    def open(self, parent: Node, edge: Edge) -> None:
        """Give the edge a child: the game is over there, or the network is asked."""
        parent.unopened.remove(edge)
        parent.opened.append(edge)
        board = parent.position[None]
        position = make(board, actions_to_moves(board, [edge.action]))[0]
        clock, key = int(position[7]) & CLOCK_MASK, key_of(position)
        keys = [*parent.keys, key] if clock else [key]
        before = [*parent.before, left(parent)][-7:]
        node = Node(position, keys, parent.depth + 1, before)
        edge.child = node
        count = node.keys[:-1].count(key)
        distance = node.keys[-2::-1].index(key) + 1 if count else 0
        code = terminations(position[None], count)[0]
        node.is_over = code != Termination.ONGOING or 0 < distance <= node.depth
        if code == Termination.CHECKMATE:
            node.value, node.proof = -UNIT, LOST if self.config.solve else UNPROVEN
        elif node.is_over:
            self._set_value(node, 0, UNIT)
        else:
            self._ask(node)

    def _ask(self, node: Node) -> None:
        """The network's answer as edges and value, unless a mate in one needs no answer."""
        board, config = node.position[None], self.config
        moves, num_moves = legal_moves(board)
        actions = moves_to_actions(moves[:, : num_moves[0]])
        if config.solve and config.see_mates and self._sees_mate(node, moves[0, : num_moves[0]]):
            return
        seen = node.keys[:-1].count(node.keys[-1])
        planes = encode_planes(board, seen, past_of(node), self.planes)
        policy, wdl, steps = answer(planes, actions)
        self.steps += int(steps[0])
        temperature = config.policy_temperature if config.search == "puct" else 1.0
        weights = _weigh(policy, POLICY_SCALE / temperature, steps)
        total = np.float32(sum(weights))
        codes = [encode_prior(np.float32(max(weight, 1)) / total) for weight in weights]
        words = [code << 16 | int(action) for code, action in zip(codes, actions[0], strict=True)]
        node.unopened = [Edge(word) for word in sorted(words, reverse=True)]
        win, draw, loss = _weigh(wdl, VALUE_SCALE, steps)
        total = win + draw + loss
        win, loss = ((part * UNIT + total // 2) // total for part in (win, loss))
        self._set_value(node, win - loss, max(0, UNIT - win - loss))

    def _sees_mate(self, node: Node, moves: NDArray[np.uint16]) -> bool:
        """Whether a move mates; then the node is won, or the root has that move only."""
        codes = terminations(make(node.position[None].repeat(len(moves), 0), moves))
        mates = moves_to_actions(moves[codes == Termination.CHECKMATE])
        if len(mates):
            node.value = UNIT
            if node.depth:
                node.proof, node.distance = WON, 1
            else:
                node.unopened = [Edge(encode_prior(np.float32(1)) << 16 | int(mates[0]))]
        return len(mates) > 0

    def _set_value(self, node: Node, value: int, draw: int) -> None:
        """A draw is worth the draw score to the root's mover."""
        side = -1 if node.depth % 2 else 1
        score = draw * round(self.config.draw_score * 65536) >> 16
        node.value, node.draw = value + side * score, draw


def encode_prior(p: np.float32) -> int:
    """A probability in 16 bits: five of exponent, eleven of mantissa, half away from zero."""
    return max(1, (int(p.view(np.uint32)) + 0x800 >> 12) - (96 << 11))


def decode_prior(code: int) -> float:
    """The probability of a code."""
    return float(np.uint32(code + (96 << 11) << 12).view(np.float32))


def add_up(terms: list[float]) -> float:
    """One after the other: Python's own sum of floats is compensated from 3.12 on."""
    total = 0.0
    for term in terms:
        total += term
    return total


def left(node: Node) -> Position:
    """The node's position as a past has it, marked where it had occurred before."""
    position = node.position.copy()
    is_repeated = node.keys[-1] in node.keys[:-1]
    position[7] |= np.uint64(is_repeated << REPEATED_SHIFT)
    return position


def past_of(node: Node) -> NDArray[np.uint64]:
    """The positions before the node's as ``chess.past`` keeps them, ``uint64[1, 8, 8]``."""
    past = np.zeros((1, 8, 8), np.uint64)
    for plies, position in enumerate(reversed(node.before), 1):
        past[0, (ply_of(node.position) - plies) % 8] = position
    return past


def ply_of(position: Position) -> int:
    """The ply that a position counts itself."""
    return int(position[7]) >> PLY_SHIFT & 0xFFFFFFFF


def key_of(position: Position) -> int:
    """Key for repetitions."""
    return int(position_keys(position[None])[0])


def _weigh(accumulators: NDArray[np.int32], scale: float, steps: NDArray[np.uint8]) -> list[int]:
    """Integer softmax of the accumulators of one answer, int32[1, L]."""
    count = accumulators.shape[1]
    per_step = np.float32(scale * float(LOG2_E)) / np.float32(steps[0])
    weights, _ = softmax_weights(accumulators, np.array([count], np.uint8), per_step[None])
    return [int(weight) for weight in weights[0, :count]]


def _back_up(path: list[Node]) -> None:
    leaf = path[-1]
    value, draw = (leaf.proof * UNIT, 0) if leaf.proof else (leaf.value, leaf.draw)
    for node in reversed(path):
        node.visits += 1
        node.value_sum += value
        node.draw_sum += draw
        value = -value


def _prove(path: list[Node]) -> None:
    """What the proof of the node below ``path`` proves of the nodes above it."""
    for node in reversed(path):
        ends = [(edge.proof, edge.child.distance + 1) for edge in node.opened if edge.child]
        wins = [distance for proof, distance in ends if proof == WON]
        if wins:
            node.proof, node.distance = WON, min(wins)
        elif not node.unopened and all(proof == LOST for proof, _ in ends):
            node.proof, node.distance = LOST, max(distance for _, distance in ends)
