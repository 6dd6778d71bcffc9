"""What a GUI is told for what it says: the state of a session."""

import sys
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from vecchess import __version__
from vecchess.config import UciConfig
from vecchess.errors import ConfigError
from vecchess.uci.apply_options import OptionApplier
from vecchess.uci.background_task import BackgroundTask
from vecchess.uci.engine_options import CLEAR_HASH, Options
from vecchess.uci.parse_command import (
    Go,
    Position,
    parse_go,
    parse_position,
    parse_set_option,
    split,
)
from vecchess.uci.searcher import Searcher, Task

if TYPE_CHECKING:
    from vecchess.uci.engine_state import EngineState
    from vecchess.uci.go_command import GoSearch
    from vecchess.uci.uci_board import UciGame

AUTHOR = "the vecchess developers"
HELP = (
    "vecchess is a chess engine that speaks UCI: it is meant to be started by a chess program, "
    "see docs/uci.md.",
    "Commands: uci isready setoption ucinewgame position go stop ponderhit debug register quit",
    "and: d eval bench [simulations] help",
)


class Session:
    """One conversation. ``execute`` is called from one thread; ``say`` from several."""

    def __init__(self, config: UciConfig, say: Callable[[str], object]) -> None:
        """``say`` takes a line for the GUI."""
        self._say = say
        self._options = Options(config)
        self._loader = OptionApplier(self._options, self._tell, _to_people)
        self._searcher = Searcher(_to_people, self._complain)
        self._game: UciGame | None = None
        self._thinking: GoSearch | None = None
        self._is_debugging = False
        self._verbs: dict[str, Callable[[list[str], float], object]] = {
            "uci": self._uci,
            "isready": self._is_ready,
            "setoption": self._set_option,
            "ucinewgame": self._new_game,
            "position": self._position,
            "go": self._go,
            "stop": self._stop,
            "ponderhit": self._ponder_hit,
            "debug": self._debug,
            "register": lambda words, now: None,
            "d": self._show_board,
            "eval": self._evaluate,
            "bench": self._bench,
            "help": self._help,
        }

    def execute(self, line: str, now_s: float | None = None) -> bool:
        """Do what a line says, which came at ``now_s`` (``monotonic``); False after ``quit``."""
        verb, words = split(line)
        if verb == "quit":
            return False
        if verb:
            do = self._verbs.get(verb)
            if do is None:
                text = "".join(mark if mark.isprintable() else "?" for mark in line.strip())
                self._say(f"Unknown command: '{text}'. Type help for more information.")
            else:
                do(words, monotonic() if now_s is None else now_s)
        return True

    def wait(self, timeout_s: float | None = None) -> bool:
        """Until everything asked for is done; False where that takes longer."""
        return self._searcher.wait(timeout_s)

    def close(self, timeout_s: float) -> bool:
        """Stop, answer what is open and end; False where something does not end."""
        self._searcher.stop()
        return self._searcher.close(timeout_s)

    # commands

    def _uci(self, words: Sequence[str], now: float) -> None:
        self._say(f"id name vecchess {__version__}")
        self._say(f"id author {AUTHOR}")
        self._say("")
        for line in self._options.lines():
            self._say(line)
        self._say("uciok")

    def _is_ready(self, words: Sequence[str], now: float) -> None:
        """At once while something goes on; otherwise when network and search are ready."""
        if self._is_busy():
            self._say("readyok")
            return
        config = self._options.config

        self._searcher.post(
            BackgroundTask(
                lambda engine: self._loader.load(engine, config), lambda: self._say("readyok")
            )
        )

    def _set_option(self, words: Sequence[str], now: float) -> None:
        option = parse_set_option(words)
        if option is None:
            self._tell("setoption: write setoption name NAME value VALUE")
            return
        try:
            chosen = self._options.set(option.name, option.value)
        except KeyError:
            self._say(f"No such option: {option.name}")
        except ConfigError as error:
            self._tell(str(error))
        else:
            if chosen.name == CLEAR_HASH:
                self._do(lambda engine: engine.clear())

    def _new_game(self, words: Sequence[str], now: float) -> None:
        self._do(lambda engine: engine.clear())

    def _position(self, words: Sequence[str], now: float) -> None:
        from vecchess.uci.uci_board import set_up

        asked = parse_position(words)
        if asked is None:
            self._tell("position: write position startpos or position fen FEN, then moves ...")
            return
        try:
            self._game = set_up(asked, self._game)
        except ConfigError as error:
            self._tell(f"{error}; the position stays as it was")
            return
        if len(self._game.moves) < len(asked.moves):
            number = len(self._game.moves)
            self._tell(f"{asked.moves[number]} (move {number + 1}) is not legal: left out, "
                       "with what follows")  # fmt: skip

    def _go(self, words: Sequence[str], now: float) -> None:
        self._finish_search()
        go = parse_go(words)
        for complaint in go.complaints:
            self._tell(complaint)
        if go.perft is not None and go.perft > 0:
            self._perft(go.perft)
            return
        self._think(go, now)

    def _stop(self, words: Sequence[str], now: float) -> None:
        self._searcher.stop()

    def _ponder_hit(self, words: Sequence[str], now: float) -> None:
        if self._thinking is not None:
            self._thinking.ponder_hit(now)

    def _debug(self, words: Sequence[str], now: float) -> None:
        if words[:1] not in (["on"], ["off"]):
            self._tell("debug: write debug on or debug off")
            return
        self._is_debugging = words[0] == "on"

    def _show_board(self, words: Sequence[str], now: float) -> None:
        from vecchess.chess.fen import from_board
        from vecchess.chess.position import position_keys
        from vecchess.uci.uci_board import diagram

        game = self._current_game()
        key = int(position_keys(from_board(game.board)[None])[0])
        for line in diagram(game, key, self._options.config.chess960):
            self._say(line)

    def _evaluate(self, words: Sequence[str], now: float) -> None:
        from vecchess.uci.tasks import EvalTask

        self._searcher.post(
            EvalTask(self._current_game(), self._options.config, self._loader.load, self._say)
        )

    def _bench(self, words: Sequence[str], now: float) -> None:
        from vecchess.uci.tasks import BENCH_SIMS, BenchTask

        given = words[0] if words else str(BENCH_SIMS)
        if not given.isdecimal() or not 1 <= int(given) <= 1 << 24:
            self._tell(f'bench: simulations of a position are 1 to 16777216, not "{given}"')
            return
        config, load = self._options.config, self._loader.load
        self._searcher.post(BenchTask(config, load, int(given), self._say))

    def _help(self, words: Sequence[str], now: float) -> None:
        for line in HELP:
            self._say(line)

    # what they need

    def _think(self, go: Go, now: float) -> None:
        from vecchess.uci.go_command import GoSearch

        config = self._options.config
        self._thinking = GoSearch(
            go, self._current_game(), config, self._loader.load, now, self._say, self._is_debugging
        )
        self._searcher.post(self._thinking)

    def _perft(self, depth: int) -> None:
        from vecchess.uci.tasks import MOST_DEPTH, PerftTask

        if depth > MOST_DEPTH:
            self._tell(f"go: perft goes down to {MOST_DEPTH}, not {depth}")
            return
        chess960 = self._options.config.chess960
        self._searcher.post(PerftTask(self._current_game(), depth, chess960, self._say))

    def _finish_search(self) -> None:
        """A search that is still going on ends when the next begins."""
        if self._thinking is not None and not self._thinking.is_answered:
            self._thinking.stop()

    def _current_game(self) -> "UciGame":
        from vecchess.uci.uci_board import set_up

        if self._game is None:
            self._game = set_up(Position())
        return self._game

    def _is_busy(self) -> bool:
        return any(not isinstance(task, BackgroundTask) for task in self._searcher.open_tasks)

    def _do(self, work: "Callable[[EngineState], object]") -> None:
        self._searcher.post(BackgroundTask(work))

    def _tell(self, line: str) -> None:
        self._say(f"info string {line}")

    def _complain(self, task: Task, reason: str) -> None:
        self._tell(f"error: {reason}")
        task.give_up()


def _to_people(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
