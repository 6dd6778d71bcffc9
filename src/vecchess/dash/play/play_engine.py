"""One engine of the play page: ``vecchess uci`` with a network, in a process of its own.

Decision 168: each command is a task of its own.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Any, NamedTuple, TypeVar

import chess
import chess.engine
from chess.engine import INFO_ALL, Limit

from vecchess.dash.answers import RequestRefused
from vecchess.errors import ConfigError
from vecchess.safe_parse import parse_json_object
from vecchess.uci.spikes import ANSWER
from vecchess.uci.uci_board import UciGame

T = TypeVar("T")
NICENESS = 10
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
_SPIKES = f"info string {ANSWER}"
_ERROR_PREFIXES = ("info string error: ", "vecchess: error: ")
HASH_MB = 64
READY_S = 600.0
"""The first time of a version everything is compiled."""
MOVE_S, ANALYSIS_S = 30.0, 30.0
"""No move and no analysis takes longer."""
GRACE_S = 30.0
"""An engine that is so late hangs."""
TRACE_S = 60.0
"""Spikes take no longer; the first ones import torch."""
MOST_BYTES = 1 << 24
"""Longest answer with spikes; 64 layers at 64 steps with 64 squares take 1.5 MB."""
CLOSING_S = 5.0
SHOW_S = 0.15
LINES = 3
SILENT = "the engine does not answer; it was ended"
SHOWN_PLIES = 12


class EngineEnded(RequestRefused):
    """An engine ended or hangs; the next request starts a new one."""

    def __init__(self, message: str) -> None:
        super().__init__(503, message)


class PlayStrength(NamedTuple):
    """How well to play: simulations a move, 0 for the policy alone, or the rating of UCI_Elo."""

    sims: int
    elo: int | None = None

    @property
    def limit(self) -> Limit:
        """The limit that ``go`` is given."""
        return Limit(nodes=None if self.elo else max(1, self.sims), time=MOVE_S)

    @property
    def options(self) -> dict[str, Any]:
        """The options of a game: python-chess would have it analyse, at full strength."""
        plays = {"UCI_AnalyseMode": False, "UCI_LimitStrength": self.elo is not None}
        return plays | ({"UCI_Elo": self.elo} if self.elo else {})


class EngineProtocol(chess.engine.UciProtocol):
    """python-chess's protocol, which keeps errors and spikes of a vecchess engine."""

    reported_error = ""
    """The newest; the engine goes on without a network that it cannot open."""
    trace: "asyncio.Future[str] | None" = None
    """The answer to the last ``spikes``; None before the first."""

    def line_received(self, line: str) -> None:
        """Keep an error, or spikes, among the lines of the standard output."""
        if line.startswith(_SPIKES) and self.trace is not None and not self.trace.done():
            self.trace.set_result(line.removeprefix(_SPIKES))
        for prefix in _ERROR_PREFIXES:
            if line.startswith(prefix):
                self.reported_error = line.removeprefix(prefix).split(" (going on ")[0]

    error_line_received = line_received


class PlayEngine:
    """Plays and analyses, one request at a time, and traces spikes meanwhile.

    A request may be cancelled at any time. A search runs in a task of its own, which stops the
    engine and reads its answer: python-chess cannot be cancelled within a command.
    """

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: EngineProtocol) -> None:
        self._transport, self._protocol = transport, protocol
        self._last: asyncio.Task[Any] | None = None
        self._searching, self._tracing = asyncio.Lock(), asyncio.Lock()

    @classmethod
    async def start(cls, net: str) -> "PlayEngine":
        """Start with the network ``net``, a file or a name.

        Returned once it is ready, which takes minutes where everything has to be compiled. Raises
        EngineEnded, and ConfigError for a network that cannot be opened.
        """
        command = [sys.executable, "-m", "vecchess_cli.main", "uci", "--net", net]
        command += ["--gpus", "cpu", "--threads", "1", "--hash-mb", str(HASH_MB)]
        # a process group of its own: Ctrl-C ends the server, and the server ends the engine
        settings = os.environ | ONE_THREAD | {"CUDA_VISIBLE_DEVICES": ""}
        try:
            popen = EngineProtocol.popen(command, env=settings, process_group=0)
            transport, protocol = await popen
        except OSError as error:
            raise EngineEnded(f"the engine cannot be started: {error}") from None
        with suppress(OSError):  # it may be gone already
            os.setpriority(os.PRIO_PROCESS, transport.get_pid(), NICENESS)  # also its threads
        engine = cls(transport, protocol)
        try:
            await engine._within(READY_S, protocol.initialize())
            await engine._within(READY_S, protocol.configure({"UCI_ShowWDL": True}))
            await engine._within(READY_S, protocol.ping())
            if protocol.reported_error:
                raise ConfigError(protocol.reported_error)
        except BaseException:
            engine.kill()
            raise
        return engine

    @property
    def pid(self) -> int:
        """Id of the process."""
        return self._transport.get_pid()

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return self._transport.get_returncode() is None

    def kill(self) -> None:
        """End it at once; it has nothing to save."""
        self._transport.close()

    async def close(self) -> None:
        """End it, and wait until it is gone."""
        self.kill()
        await asyncio.wait([self._protocol.returncode], timeout=CLOSING_S)

    async def move(self, board: chess.Board, strength: PlayStrength) -> tuple[chess.Move, Any]:
        """The move it plays, and the line it expects as in ``analyse``, None where it says none.

        Raises EngineEnded.
        """
        async with self._search(board, strength.limit, 1, strength.options) as search:
            move = await self._within(MOVE_S + GRACE_S, asyncio.shield(search.task))
        if move is None:
            raise EngineEnded("the engine found no move")
        return move, next(iter(search.lines()), None)

    async def analyse(self, board: chess.Board, sims: int) -> AsyncIterator[list[dict[str, Any]]]:
        """The best lines so far, a few times a second, and once more at the end.

        Closing the iterator stops the search. Raises EngineEnded.
        """
        async with self._search(board, Limit(nodes=sims, time=ANALYSIS_S), LINES, {}) as search:
            deadline = monotonic() + ANALYSIS_S + GRACE_S
            while not search.task.done() and monotonic() < deadline:
                await asyncio.wait({search.task}, timeout=SHOW_S)
                if search.has_news:
                    yield search.lines()
            await self._within(0.0, asyncio.shield(search.task))
            yield search.lines()

    async def spikes(self, game: UciGame) -> dict[str, Any]:
        """The network's spikes after ``game`` (``uci.spikes.trace_spikes``).

        A request whose turn has not come is dropped when it is cancelled. Raises ConfigError for
        what the engine refuses, EngineEnded.
        """
        fen = game.start.shredder_fen(en_passant="fen")
        moves = " ".join(move.uci() for move in game.moves)
        async with self._tracing:
            await self._answer()  # to a request that was cancelled
            self._protocol.trace = asyncio.get_running_loop().create_future()
            self._protocol.send_line(f"spikes fen {fen} moves {moves}")
            seen = parse_json_object(await self._answer(), MOST_BYTES)
        if "error" in seen:
            raise ConfigError(seen["error"])
        return seen

    async def _answer(self) -> str:
        """The answer to the last ``spikes``, "" before the first."""
        trace = self._protocol.trace
        if trace is None:
            return ""
        waited = (trace, self._protocol.returncode)
        await asyncio.wait(waited, timeout=TRACE_S, return_when=asyncio.FIRST_COMPLETED)
        if trace.done():
            return trace.result()
        self.kill()
        raise EngineEnded("the engine ended" if self._protocol.returncode.done() else SILENT)

    @asynccontextmanager
    async def _search(
        self, board: chess.Board, limit: Limit, num_lines: int, options: Mapping[str, Any]
    ) -> AsyncIterator["_Search"]:
        """A search, once the last one has ended; it is stopped at the end of the block."""
        async with self._searching:
            if self._last is not None:
                await asyncio.wait({self._last}, timeout=GRACE_S)
                if not self._last.done():
                    self.kill()
                    raise EngineEnded(SILENT)
            search = _Search(board, self._protocol, limit, num_lines, options)
            self._last = search.task
            try:
                yield search
            finally:
                search.stop()

    async def _within(self, seconds: float, work: Awaitable[T]) -> T:
        try:
            return await asyncio.wait_for(work, seconds)
        except TimeoutError:
            self.kill()
            raise EngineEnded(SILENT) from None
        except chess.engine.EngineError as error:
            self.kill()
            reason = self._protocol.reported_error or error
            raise EngineEnded(f"the engine ended: {reason}") from None


class _Search:
    """A search, as far as it has come."""

    def __init__(
        self,
        board: chess.Board,
        protocol: EngineProtocol,
        limit: Limit,
        num_lines: int,
        options: Mapping[str, Any],
    ) -> None:
        self._board = board
        self._analysis: chess.engine.AnalysisResult | None = None
        self._is_stopped = False
        self.has_news = False
        """Whether there is a whole report that was not read."""
        starting = protocol.analysis(
            board, limit, multipv=num_lines, info=INFO_ALL, options=options
        )
        self.task = asyncio.create_task(self._run(starting))
        """The best move; raises EngineError."""
        self.task.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _run(self, starting: Awaitable[chess.engine.AnalysisResult]) -> chess.Move | None:
        self._analysis = analysis = await starting
        if self._is_stopped:
            analysis.stop()
        while await analysis.next() is not None:
            self.has_news = analysis.empty()
        return (await analysis.wait()).move

    def stop(self) -> None:
        """Let it come to its end soon."""
        self._is_stopped = True
        if self._analysis is not None:
            self._analysis.stop()

    def lines(self) -> list[dict[str, Any]]:
        """The lines of the newest report, the best first."""
        self.has_news = False
        if self._analysis is None:
            return []
        nodes = self._analysis.info.get("nodes")
        reported = (info for info in self._analysis.multipv if info.get("nodes") == nodes)
        return [_line(self._board, info) for info in reported if "wdl" in info]


def _line(board: chess.Board, info: chess.engine.InfoDict) -> dict[str, Any]:
    """A line for JSON. White's view; mate in moves, below 0 where Black mates."""
    moves, after, sans = info.get("pv", [])[:SHOWN_PLIES], board.copy(stack=False), []
    for move in moves:
        sans.append(after.san(move))
        after.push(move)
    wdl = info["wdl"].white()
    total = wdl.total() or 1
    score = info.get("score")
    return {
        "uci": moves[0].uci() if moves else None,
        "san": sans,
        "win": wdl.wins / total,
        "draw": wdl.draws / total,
        "loss": wdl.losses / total,
        "mate": score.white().mate() if score else None,
        "sims": info.get("nodes", 0),
        "depth": info.get("depth", 0),
        "sims_per_s": info.get("nps", 0),
    }
