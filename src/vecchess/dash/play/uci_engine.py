"""One engine of the play page: ``vecchess uci`` with a network, in a process of its own."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Coroutine
from time import monotonic
from typing import Any, NamedTuple, TypeVar

import chess
import chess.engine
from chess.engine import INFO_ALL, Limit

from vecchess.dash.play.helper_process import (
    HelperFailed,
    lower_priority,
    popen_options,
    python_command,
)
from vecchess.runtime.uci_client import EngineProtocol

T = TypeVar("T")
HASH_MB = 64
READY_S = 600.0
"""The first time of a version everything is compiled."""
MOVE_S, ANALYSIS_S = 30.0, 30.0
"""No move and no analysis takes longer."""
GRACE_S = 30.0
"""An engine that is so late hangs."""
CLOSING_S = 5.0
SHOW_S = 0.15
LINES = 3
SILENT = "the engine does not answer; it was ended"
SHOWN_PLIES = 12
GUMBEL_SIMS = 64
"""Up to so many simulations are searched as training does it."""


class PlayStrength(NamedTuple):
    """How well to play: simulations a move, 0 for the policy alone, or the rating of UCI_Elo."""

    sims: int
    elo: int | None = None

    @property
    def limit(self) -> Limit:
        """For ``go``."""
        return Limit(nodes=None if self.elo else max(1, self.sims), time=MOVE_S)

    @property
    def options(self) -> dict[str, Any]:
        """For ``setoption``."""
        if self.elo:
            return {"UCI_LimitStrength": True, "UCI_Elo": self.elo, "Search": "puct"}
        return {"Search": "gumbel" if 1 < self.sims <= GUMBEL_SIMS else "puct"}


class PlayEngine:
    """Plays and analyses, one request at a time.

    A request may be cancelled at any time. The engine's command runs in a task of its own, which
    stops the engine and reads its answer: python-chess cannot be cancelled within a command.
    """

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: EngineProtocol) -> None:
        self._transport, self._protocol = transport, protocol
        self._last: asyncio.Task[Any] | None = None

    @classmethod
    async def start(cls, net: str) -> "PlayEngine":
        """Start with the network file ``net``, or "material"; raises HelperFailed.

        Returned once it is ready, which takes minutes where everything has to be compiled.
        """
        arguments = ("uci", "--net", net, "--gpus", "cpu", "--threads", "1")
        command = python_command("vecchess_cli.main", *arguments, "--hash-mb", str(HASH_MB))
        transport, protocol = await EngineProtocol.popen(command, **popen_options())
        lower_priority(transport.get_pid())
        engine = cls(transport, protocol)
        try:
            await engine._within(READY_S, protocol.initialize())
            await engine._within(READY_S, protocol.configure({"UCI_ShowWDL": True}))
            await engine._within(READY_S, protocol.ping())
            if protocol.reported_error:
                raise HelperFailed(protocol.reported_error)
        except BaseException:
            engine.kill()
            raise
        return engine

    @property
    def pid(self) -> int:
        """Of the process."""
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

        Raises HelperFailed.
        """
        await self._idle()
        playing = self._begin(_played(self._protocol, board, strength))
        try:
            played = await self._within(MOVE_S + GRACE_S, asyncio.shield(playing))
        finally:
            playing.cancel()
        if played.move is None:
            raise HelperFailed("the engine found no move")
        return played.move, _line(board, played.info) if "wdl" in played.info else None

    async def analyse(self, board: chess.Board, sims: int) -> AsyncIterator[list[dict[str, Any]]]:
        """The best lines so far, a few times a second, and once more at the end.

        Closing the iterator stops the search. Raises HelperFailed.
        """
        await self._idle()
        search = _Search(board)
        running = self._begin(search.run(self._protocol, sims))
        deadline = monotonic() + ANALYSIS_S + GRACE_S
        try:
            while not running.done() and monotonic() < deadline:
                await asyncio.wait({running}, timeout=SHOW_S)
                if search.has_news:
                    yield search.lines()
            await self._within(0.0, asyncio.shield(running))
            yield search.lines()
        finally:
            search.stop()

    def _begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start ``work``, which a cancelled request does not end; the next request waits for it."""
        self._last = task = asyncio.create_task(work)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    async def _idle(self) -> None:
        """Wait until the last command has ended."""
        if self._last is not None:
            await asyncio.wait({self._last}, timeout=GRACE_S)
            if not self._last.done():
                self.kill()
                raise HelperFailed(SILENT)

    async def _within(self, seconds: float, work: Awaitable[T]) -> T:
        try:
            return await asyncio.wait_for(work, seconds)
        except TimeoutError:
            self.kill()
            raise HelperFailed(SILENT) from None
        except chess.engine.EngineError as error:
            self.kill()
            raise HelperFailed(self._why(error)) from None

    def _why(self, error: chess.engine.EngineError) -> str:
        return f"the engine ended: {self._protocol.reported_error or error}"


class _Search:
    """An analysis, as far as it has come."""

    def __init__(self, board: chess.Board) -> None:
        self._board = board
        self._analysis: chess.engine.AnalysisResult | None = None
        self._is_stopped = False
        self._news = False

    async def run(self, protocol: EngineProtocol, sims: int) -> None:
        """Search to the end; raises EngineError."""
        limit = Limit(nodes=sims, time=ANALYSIS_S)
        analysis = await protocol.analysis(self._board, limit, multipv=LINES, info=INFO_ALL)
        self._analysis = analysis
        if self._is_stopped:
            analysis.stop()
        while await analysis.next() is not None:
            self._news = analysis.empty()

    def stop(self) -> None:
        """Let it come to its end soon."""
        self._is_stopped = True
        if self._analysis is not None:
            self._analysis.stop()

    @property
    def has_news(self) -> bool:
        """Whether there is a whole report that was not read."""
        return self._news

    def lines(self) -> list[dict[str, Any]]:
        """The lines of the newest report, the best first."""
        self._news = False
        if self._analysis is None:
            return []
        nodes = self._analysis.info.get("nodes")
        reported = (info for info in self._analysis.multipv if info.get("nodes") == nodes)
        return [_line(self._board, info) for info in reported if "wdl" in info]


async def _played(
    protocol: EngineProtocol, board: chess.Board, strength: PlayStrength
) -> chess.engine.PlayResult:
    """The engine's move; where that is cancelled, until the engine has noticed."""
    try:
        return await protocol.play(board, strength.limit, info=INFO_ALL, options=strength.options)
    except asyncio.CancelledError:
        await protocol.ping()
        raise


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
