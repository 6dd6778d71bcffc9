"""The commands of a GUI, and the state of a conversation (decision 68)."""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING

from vecchess import __version__
from vecchess.config import UciConfig
from vecchess.errors import ConfigError
from vecchess.runtime.reporting import ReportLine
from vecchess.safe_parse import is_count, printable
from vecchess.uci.engine_options import CLEAR_HASH, Options
from vecchess.uci.parse_command import (
    Position,
    parse_go,
    parse_position,
    parse_set_option,
    split,
)
from vecchess.uci.searcher import BackgroundTask, LinesTask, Searcher, Task
from vecchess.uci.spikes import answer_spikes

if TYPE_CHECKING:
    from vecchess.uci.engine_state import EngineState
    from vecchess.uci.go_command import GoSearch
    from vecchess.uci.uci_board import UciGame

AUTHOR = "the vecchess developers"
HELP = (
    "vecchess is a chess engine that speaks UCI: it is meant to be started by a chess program, "
    "see docs/uci.md.",
    "Commands: uci isready setoption ucinewgame position go stop ponderhit debug register quit",
    "and: d eval bench [simulations] spikes help",
)


class Session:
    """One conversation. ``execute`` is called from one thread; ``write`` from several."""

    def __init__(self, config: UciConfig, write: ReportLine) -> None:
        """``write`` takes a line for the GUI."""
        self._write = write
        self._options = Options(config)
        self._searcher = Searcher(self._open_engine, self._report_error)
        self._game: UciGame | None = None
        self._search: GoSearch | None = None
        self._is_debugging = False
        self._commands: dict[str, Callable[[list[str], float], object]] = {
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
            "spikes": lambda words, now: self._inform(
                answer_spikes(words, self._options.config.net)
            ),
            "help": self._help,
        }

    def execute(self, line: str, now_s: float | None = None) -> bool:
        """Carry out a line that came at ``now_s`` (``monotonic``); False after ``quit``."""
        verb, words = split(line)
        if verb == "quit":
            return False
        if verb:
            carry_out = self._commands.get(verb)
            if carry_out is None:
                text = printable(line.strip())
                self._write(f"Unknown command: '{text}'. Type help for more information.")
            else:
                carry_out(words, monotonic() if now_s is None else now_s)
        return True

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until all commands are carried out; False where that takes longer."""
        return self._searcher.wait(timeout_s)

    def close(self, timeout_s: float) -> bool:
        """Stop, answer open commands and end; False where a task does not end in time."""
        self._searcher.stop()
        return self._searcher.close(timeout_s)

    # commands

    def _uci(self, words: Sequence[str], now: float) -> None:
        self._write(f"id name vecchess {__version__}")
        self._write(f"id author {AUTHOR}")
        self._write("")
        for line in self._options.lines():
            self._write(line)
        self._write("uciok")

    def _is_ready(self, words: Sequence[str], now: float) -> None:
        """Answer at once during a search; otherwise when network and search are ready."""
        if any(not task.is_answered for task in self._searcher.open_tasks):
            self._write("readyok")
            return
        config = self._options.config
        ready = BackgroundTask(lambda engine: engine.load(config), lambda: self._write("readyok"))
        self._searcher.post(ready)

    def _set_option(self, words: Sequence[str], now: float) -> None:
        option = parse_set_option(words)
        if option is None:
            self._inform("setoption: write setoption name NAME value VALUE")
            return
        try:
            chosen = self._options.set(*option)
        except KeyError:
            self._write(f"No such option: {option[0]}")
        except ConfigError as error:
            self._inform(str(error))
        else:
            if chosen.name == CLEAR_HASH:
                self._searcher.post(BackgroundTask(lambda engine: engine.clear()))

    def _new_game(self, words: Sequence[str], now: float) -> None:
        self._searcher.post(BackgroundTask(lambda engine: engine.clear()))

    def _position(self, words: Sequence[str], now: float) -> None:
        from vecchess.uci.uci_board import set_up

        asked = parse_position(words)
        if asked is None:
            self._inform("position: write position startpos or position fen FEN, then moves ...")
            return
        try:
            self._game = set_up(asked, self._game)
        except ConfigError as error:
            self._inform(f"{error}; the position stays as it was")
            return
        if len(self._game.moves) < len(asked.moves):
            number = len(self._game.moves)
            self._inform(f"{asked.moves[number]} (move {number + 1}) is not legal: left out, "
                       "with what follows")  # fmt: skip

    def _go(self, words: Sequence[str], now: float) -> None:
        if self._search is not None and not self._search.is_answered:
            self._search.stop()
        go = parse_go(words)
        for error in go.errors:
            self._inform(error)
        if go.perft is not None and go.perft > 0:
            self._perft(go.perft)
            return
        from vecchess.uci.go_command import GoSearch

        game, config = self._current_game(), self._options.config
        self._search = GoSearch(go, game, config, now, self._write, self._is_debugging)
        self._searcher.post(self._search)

    def _stop(self, words: Sequence[str], now: float) -> None:
        self._searcher.stop()

    def _ponder_hit(self, words: Sequence[str], now: float) -> None:
        if self._search is not None:
            self._search.ponder_hit(now)

    def _debug(self, words: Sequence[str], now: float) -> None:
        if words[:1] not in (["on"], ["off"]):
            self._inform("debug: write debug on or debug off")
            return
        self._is_debugging = words[0] == "on"

    def _show_board(self, words: Sequence[str], now: float) -> None:
        from vecchess.chess.fen import from_board
        from vecchess.chess.position import position_keys
        from vecchess.uci.uci_board import diagram

        game = self._current_game()
        key = int(position_keys(from_board(game.board)[None])[0])
        for line in diagram(game, key, self._options.config.chess960):
            self._write(line)

    def _evaluate(self, words: Sequence[str], now: float) -> None:
        from vecchess.uci.tasks import eval_lines

        self._write_lines(partial(eval_lines, self._current_game(), self._options.config))

    def _bench(self, words: Sequence[str], now: float) -> None:
        from vecchess.uci.tasks import BENCH_SIMS, bench_lines

        given = words[0] if words else str(BENCH_SIMS)
        if not is_count(given) or not 1 <= int(given) <= 1 << 24:
            self._inform(f'bench: simulations of a position are 1 to 16777216, not "{given}"')
            return
        self._write_lines(partial(bench_lines, self._options.config, int(given)))

    def _help(self, words: Sequence[str], now: float) -> None:
        for line in HELP:
            self._write(line)

    # helpers of the commands

    def _perft(self, depth: int) -> None:
        from vecchess.uci.tasks import MOST_DEPTH, perft_lines

        if depth > MOST_DEPTH:
            self._inform(f"go: perft goes down to {MOST_DEPTH}, not {depth}")
            return
        chess960 = self._options.config.chess960
        self._write_lines(partial(perft_lines, self._current_game(), depth, chess960))

    def _write_lines(self, lines: "Callable[[EngineState, Event], Iterator[str]]") -> None:
        self._searcher.post(LinesTask(lines, self._write))

    def _current_game(self) -> "UciGame":
        from vecchess.uci.uci_board import set_up

        if self._game is None:
            self._game = set_up(Position())
        return self._game

    def _open_engine(self) -> "EngineState":
        from vecchess.uci.engine_state import EngineState

        return EngineState(self._options, self._inform, _print_note)

    def _inform(self, line: str) -> None:
        self._write(f"info string {line}")

    def _report_error(self, task: Task, reason: str) -> None:
        self._inform(f"error: {reason}")
        task.answer_error()


def _print_note(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
