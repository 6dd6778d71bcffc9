"""The present state of a search: its figures, its lines as UCI has them, and the move to play."""

from collections.abc import Mapping, Sequence
from math import tan
from time import monotonic

import numpy as np

from vecchess.chess.position import position_keys
from vecchess.config import UciConfig
from vecchess.rng import random_word
from vecchess.search.game_search import GameSearch
from vecchess.search.principal_variations import NO_ACTION, Line, WdlEstimate, best_lines
from vecchess.search.tree.edge_word import ACTION_MASK, word_outcomes
from vecchess.shapes import MAX_MOVES
from vecchess.uci.time_manager import ClockState
from vecchess.uci.uci_board import UciGame, uci_line

CENTIPAWN_SLOPE = 1.5637541897
"""lc0: 90 * tan(1.5637541897 * (win - loss)), in its search/classic/search.cc."""
CENTIPAWN_UNIT = 90
NO_MOVE = "(none)"
"""The move of a side without legal moves, as Stockfish writes it."""
FEW_SIMS = 100
"""Fewest simulations of which a speed is measured."""


def points(estimate: WdlEstimate, kind: str) -> int:
    """A score of the given type, named as in lc0: cp, or 1/100 % or 1/10,000."""
    balance = estimate.win - estimate.loss
    if kind == "win_percentage":
        return round(5000 * (1 + balance))
    if kind == "Q":
        return round(10_000 * estimate.value)
    if kind == "W-L":
        return round(10_000 * balance)
    return round(CENTIPAWN_UNIT * tan(CENTIPAWN_SLOPE * balance))


def wdl(estimate: WdlEstimate) -> str:
    """Wins, draws and losses in 1/1000, which sum to 1000."""
    win, loss = round(1000 * estimate.win), round(1000 * estimate.loss)
    loss = min(loss, 1000 - win)
    return f"wdl {win} {1000 - win - loss} {loss}"


def info_line(
    figures: Mapping[str, int],
    line: Line,
    rank: int,
    moves: Sequence[str],
    kind: str,
    show_wdl: bool,
) -> str:
    """One ``info`` line: the move of rank ``rank``, from 1, and what follows it.

    figures: of ``SearchSnapshot.figures``, the depths first.
    """
    words = [f"{name} {value}" for name, value in figures.items()]
    score = f"mate {line.mate}" if line.mate is not None else f"cp {points(line.estimate, kind)}"
    said = [f"multipv {rank} score {score}", *([wdl(line.estimate)] if show_wdl else [])]
    return " ".join(["info", *words[:2], *said, *words[2:], "pv", *moves])


def best_move(moves: Sequence[str]) -> str:
    """``bestmove``, with the reply that is expected, if there is one."""
    if not moves:
        return f"bestmove {NO_MOVE}"
    return f"bestmove {moves[0]}" + (f" ponder {moves[1]}" if len(moves) > 1 else "")


class SearchSnapshot:
    """Reads one search from its beginning on. The tree must not change during a call."""

    def __init__(
        self, session: GameSearch, game: UciGame, config: UciConfig, start_s: float, speed: float
    ) -> None:
        """The search was asked for at ``start_s``; ``speed``: simulations a second to expect."""
        self._session, self._game, self._config = session, game, config
        self._start, self._speed = start_s, speed
        header = session.forest.header
        self._kept = session.visits
        self._simulations = int(header["simulations"])
        self._depths = int(header["depth"])

    @property
    def speed(self) -> float:
        """Simulations a second so far."""
        done, seconds = self._session.visits - self._kept, monotonic() - self._start
        return done / max(seconds, 1e-6) if done >= FEW_SIMS else self._speed

    @property
    def figures(self) -> dict[str, int]:
        """Figures of an ``info`` line, by UCI's names. depth: mean of this search's simulations;
        nodes: simulations in the tree; hashfull: of the tree, in 1/1000; time: in ms."""
        session, header = self._session, self._session.forest.header
        descents = int(header["simulations"]) - self._simulations
        descents += int(session.forest.trees["in_flight"][0])
        depth = max(1, round((int(header["depth"]) - self._depths) / max(1, descents)))
        seconds = monotonic() - self._start
        return {
            "depth": depth,
            "seldepth": max(depth, int(header["max_depth"])),
            "nodes": session.visits,
            "nps": round((session.visits - self._kept) / max(seconds, 1e-6)),
            "hashfull": min(1000, round(1000 * session.fullness)),
            "tbhits": session.forest.tablebase_hits,
            "time": int(1000 * seconds),
        }

    @property
    def clock_state(self) -> ClockState:
        """What decides whether to go on searching; a move that is proven to lose is no rival."""
        edges = self._session.root_edges
        visits = np.where(word_outcomes(edges["word"]) < 0, 0, edges["visits"])
        order = np.argsort(-visits, kind="stable")[:2]
        values = edges["value"][order]
        is_pair = len(order) > 1 and bool(visits[order[1]] > 0)
        return ClockState(
            first=int(visits[order[0]]),
            second=int(visits[order[1]]) if is_pair else 0,
            moves=len(edges),
            speed=self.speed,
            is_overtaken=is_pair and bool(values[1] > values[0]),
        )

    def lines(self, first: int = NO_ACTION) -> list[Line]:
        """The best lines, as many as are to be shown; ``first``: the action to begin with."""
        return best_lines(self._session.forest, 0, self._config.multipv, first)

    def info(self, lines: Sequence[Line]) -> list[str]:
        """An ``info`` line for each."""
        figures, config = self.figures, self._config
        return [
            info_line(
                figures, line, rank, self.names(line.actions), config.score_type, config.show_wdl
            )
            for rank, line in enumerate(lines, 1)
        ]

    def names(self, actions: Sequence[int]) -> list[str]:
        """Moves from the root on, in UCI notation."""
        return uci_line(self._game, actions, self._config.chess960)

    def choice(self, is_planned: bool, power: float | None) -> int:
        """The action to play; where nothing was tried but what loses, the most probable other one.

        is_planned: the number of simulations was planned, and the search itself decides after
        them. power: moves are drawn in proportion to this power of their visits instead; None: the
        best.
        """
        session = self._session
        if is_planned and power is None and session.is_over and session.visits:
            return session.decision
        lines, words = best_lines(session.forest, 0, MAX_MOVES), session.root_edges["word"]
        not_lost = words[word_outcomes(words) >= 0]
        if not lines or (lines[0].outcome < 0 and len(not_lost)):
            return int(not_lost.max()) & ACTION_MASK
        if power is not None and lines[0].outcome == 0:
            return self._drawn(lines, power)
        return lines[0].actions[0]

    def _drawn(self, lines: Sequence[Line], power: float) -> int:
        """An action drawn by visits, but none that is proven to lose: another in another position,
        or with another seed."""
        visits = [line.visits if line.outcome >= 0 else 0 for line in lines]
        weights = np.array(visits, np.float64) ** power
        key = int(position_keys(self._session.position[None])[0]) >> 1
        word = random_word(self._config.seed, len(self._game.moves), key)
        place = np.searchsorted(np.cumsum(weights), word / 2**64 * weights.sum(), side="right")
        return lines[min(int(place), len(lines) - 1)].actions[0]
