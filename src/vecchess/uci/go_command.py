"""One search, from ``go`` to ``bestmove``: when it ends, and that it answers once.

The searcher's thread runs it. The thread that reads commands may stop it at any time and then
writes the answer itself, from the present tree: no answer waits for a step of the network.
"""

from bisect import bisect_right
from contextlib import suppress
from math import exp, inf, log
from threading import Event, Lock
from time import monotonic
from typing import NamedTuple

import chess

from vecchess.chess.uci_moves import action_of
from vecchess.config import MATERIAL_NET, UciConfig
from vecchess.runtime.reporting import ReportLine
from vecchess.search.game_search import GameSearch
from vecchess.uci.engine_state import EngineState
from vecchess.uci.parse_command import Go
from vecchess.uci.search_snapshot import SearchSnapshot, best_move
from vecchess.uci.searcher import Task
from vecchess.uci.time_manager import Budget, is_enough
from vecchess.uci.uci_board import UciGame, legal_move

MOST_SIMS = 1 << 30
MOST_PLANNED = 1 << 17
"""Most simulations of a search that plans them (gumbel)."""
SIMS_A_LANE = 100
CHECK_S, SHOW_S, REPEAT_S = 0.002, 0.1, 1.0
"""Intervals of a check of the clock, of new info lines, and of unchanged ones."""


class Level(NamedTuple):
    """A strength."""

    elo: int
    sims: int
    """Simulations a move, at most."""
    power: float
    """Moves are drawn in proportion to this power of their visits."""


MATERIAL = (
    Level(700, 300, 5.0),
    Level(870, 1000, 5.0),
    Level(1000, 3000, 5.0),
    Level(1250, 10_000, 5.0),
)
"""Measured with "material" against Stockfish 15.1 at its lowest rating, and against itself."""
NETWORK = (
    Level(1250, 16, 0.5),
    Level(1390, 16, 1.0),
    Level(1615, 16, 5.0),
    Level(1980, 64, 5.0),
)
"""Measured with the trained network in the same way (docs/log.md)."""


def limit_of(config: UciConfig) -> Level | None:
    """The limited strength that ``config`` asks for; None for full strength.

    A rating outside what was measured means the nearest one that was.
    """
    if not config.limit_strength or config.analyse_mode:
        return None
    return _between(MATERIAL if config.net == MATERIAL_NET else NETWORK, config.elo)


def _between(ladder: tuple[Level, ...], elo: int) -> Level:
    """The level of a rating; logarithms are interpolated."""
    ratings = [level.elo for level in ladder]
    elo = min(max(elo, ratings[0]), ratings[-1])
    place = min(bisect_right(ratings, elo) - 1, len(ladder) - 2)
    low, high = ladder[place : place + 2]
    share = (elo - low.elo) / (high.elo - low.elo)
    sims, power = (
        exp(log(few) + share * (log(many) - log(few)))
        for few, many in zip(low[1:], high[1:], strict=True)
    )
    return Level(elo, round(sims), round(power, 3))


class GoSearch(Task):
    """One ``go``."""

    def __init__(
        self, go: Go, game: UciGame, config: UciConfig, start_s: float, write: ReportLine,
        debug: bool = False,
    ) -> None:  # fmt: skip
        """The clock started at ``start_s`` (``monotonic``). ``write`` takes lines for the GUI."""
        super().__init__()
        self._go, self._game, self._config = go, game, config
        self._write, self._debug = write, debug
        self._start = self._clock_start = start_s
        self._lock, self._woken = Lock(), Event()
        self.is_answered = self._is_planned = False
        """``bestmove`` was written."""
        self._is_pondering = go.ponder
        self._sims = MOST_SIMS
        self._session: GameSearch | None = None
        self._snapshot: SearchSnapshot | None = None
        self._next_check = self._next_show = self._shown_at = 0.0
        self._shown: object = None
        white = game.board.turn == chess.WHITE
        self._budget = Budget.of(go, white, config.move_overhead_ms / 1000, config.ponder)
        self._limit = limit_of(config)

    def stop(self) -> None:
        """Answer as soon as possible: at once when the root is evaluated."""
        super().stop()
        self._woken.set()
        with self._lock:
            if self._snapshot is not None:
                self._answer()

    def ponder_hit(self, now_s: float) -> None:
        """The expected move was played at ``now_s``: the clock runs."""
        if self._is_pondering:
            self._clock_start, self._is_pondering = now_s, False
            self._woken.set()

    def run(self, engine: EngineState) -> None:
        """Search and answer, in the searcher's thread. Raises the network's errors."""
        self._config = engine.load(self._config)
        moves = self._moves()
        if not moves:
            self._wait_for_gui()
            self._answer_without_moves()
            return
        session = self._prepare(engine)
        with self._lock:
            self._begin(session, engine.speed, moves if self._go.search_moves else [])
        while not session.is_over:
            rows = session.compute()
            with self._lock:
                session.advance(rows)
                self._check()
        assert self._snapshot is not None
        engine.speed = self._snapshot.speed
        self._wait_for_gui()
        with self._lock:
            self._answer()
        if self._go.search_moves:
            session.forget()

    def answer_error(self) -> None:
        """Answer from the tree as far as it has come; with any legal move before there is one."""
        with self._lock:
            if self._session is not None and self._session.visits > 0:
                with suppress(Exception):  # whatever it was may have hit the tree too
                    self._answer()
            if not self.is_answered:
                self.is_answered = True
                board = self._game.board
                chess960 = self._config.chess960 or self._game.writes_chess960
                moves = self._moves()[:1]
                self._write(best_move([board.uci(move, chess960=chess960) for move in moves]))

    # preparation

    def _moves(self) -> list[chess.Move]:
        """The moves to be searched."""
        board = self._game.board
        if not self._go.search_moves:
            return list(board.legal_moves)
        found = (legal_move(board, uci) for uci in self._go.search_moves)
        return list(dict.fromkeys(move for move in found if move is not None))

    def _prepare(self, engine: EngineState) -> GameSearch:
        """The tree at the position, with planned simulations (gumbel) or without (puct)."""
        given = self._go.nodes or 0
        self._sims = min(given, MOST_SIMS) if given > 0 else MOST_SIMS
        if self._limit is not None:
            self._sims = min(self._sims, self._limit.sims)
        planned = self._planned_sims(engine.speed)
        self._is_planned = self._config.search == "gumbel" and planned > 0
        if self._is_planned:
            self._sims = planned
        engine.session(self._config, "gumbel" if self._is_planned else "puct",
                       planned if self._is_planned else 0)  # fmt: skip
        session = engine.set_up(self._game)
        if self._limit is not None and session.visits > self._limit.sims:
            session.forget()  # a stronger search left it
        return session

    def _planned_sims(self, speed: float) -> int:
        """Simulations of a search that has to know them; 0 where they cannot be known."""
        if self._go.infinite or self._go.ponder:
            return 0
        sims = min(self._sims, self._budget.optimum_s * speed)
        return int(min(max(sims, 1), MOST_PLANNED)) if sims < MOST_SIMS else 0

    def _begin(self, session: GameSearch, speed: float, only: list[chess.Move]) -> None:
        expected = int(min(self._sims, self._budget.most_s * speed))
        lanes = min(max(1, expected // SIMS_A_LANE), session.most_lanes)
        if self._debug:
            budget = self._budget
            plan = f"lanes {lanes} optimum {budget.optimum_s:.3f} most {budget.most_s:.3f} s"
            self._write(f"info string {plan}")
        session.begin(self._sims, lanes, [action_of(self._game.board, move) for move in only])
        self._session = session
        self._snapshot = SearchSnapshot(session, self._game, self._config, self._start, speed)
        if self._stopped.is_set():
            self._answer()

    # during the search

    def _check(self) -> None:
        """End the search if it is time, else show its state."""
        now, session, snapshot = monotonic(), self._session, self._snapshot
        assert session is not None
        assert snapshot is not None
        if self._stopped.is_set():
            self._answer()
        if self.is_answered or now < self._next_check or session.visits == 0:
            return
        self._next_check = now + CHECK_S
        is_held = self._is_pondering or self._go.infinite
        if not is_held and (self._is_deep_enough(snapshot) or self._is_time(snapshot, now)):
            self._answer()
        elif now >= self._next_show:
            self._show(snapshot, now)

    def _is_deep_enough(self, snapshot: SearchSnapshot) -> bool:
        depth = self._go.depth or 0
        return 0 < depth <= snapshot.figures["depth"]

    def _is_time(self, snapshot: SearchSnapshot, now: float) -> bool:
        if self._budget.most_s == inf:
            return False
        return is_enough(self._budget, snapshot.clock_state, now - self._clock_start)

    def _wait_for_gui(self) -> None:
        """After the search, wait for ``stop`` or ``ponderhit`` where the answer has to."""
        if self._snapshot is not None and (self._is_pondering or self._go.infinite):
            with self._lock:
                self._show(self._snapshot, inf)
        while not (self.is_answered or self._stopped.is_set()):
            if not (self._is_pondering or self._go.infinite):
                return
            self._woken.wait()
            self._woken.clear()

    # lines for the GUI

    def _show(self, snapshot: SearchSnapshot, now: float) -> None:
        """Write info lines, if there is something new."""
        lines = snapshot.lines()
        state = (snapshot.figures["depth"], *(line.actions[0] for line in lines))
        self._next_show = now + SHOW_S
        if not self.is_answered and (state != self._shown or now >= self._shown_at + REPEAT_S):
            self._shown, self._shown_at = state, now
            for line in snapshot.info(lines):
                self._write(line)

    def _answer(self) -> None:
        """Write the last lines and the move, once; open evaluations end afterwards."""
        if self.is_answered:
            return
        session, snapshot = self._session, self._snapshot
        assert session is not None
        assert snapshot is not None
        action = snapshot.choice(self._is_planned, self._limit.power if self._limit else None)
        lines = snapshot.lines(action)
        if lines and lines[0].actions[0] != action:  # all that was tried loses
            lines = []
        session.end()
        best = best_move(snapshot.names(lines[0].actions if lines else (action,)))
        for line in (*snapshot.info(lines), best):
            self._write(line)
        self.is_answered = True
        self._woken.set()

    def _answer_without_moves(self) -> None:
        """Answer a position without legal moves, as Stockfish does."""
        with self._lock:
            if not self.is_answered:
                self.is_answered = True
                mated = self._game.board.is_checkmate()
                self._write(f"info depth 0 score {'mate' if mated else 'cp'} 0")
                self._write(best_move(()))
