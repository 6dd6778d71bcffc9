"""One engine of the play page: ``vecchess uci`` with a network, in a process of its own."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from time import monotonic
from typing import Any, NamedTuple, TypeVar

import chess
import chess.engine
from chess.engine import INFO_ALL, Limit

from vecchess.dash.play_process import HelperFailed, popen_options, python_command, step_back

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
SHOWN_PLIES = 12
GUMBEL_SIMS = 64
"""Up to so many simulations are searched as training does it."""


class Strength(NamedTuple):
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


class _Protocol(chess.engine.UciProtocol):
    """Keeps what the engine complained of: an engine that cannot open a network goes on without."""

    complaint = ""

    def line_received(self, line: str) -> None:
        self._note(line, "info string error: ")

    def error_line_received(self, line: str) -> None:
        self._note(line, "vecchess: error: ")

    def _note(self, line: str, head: str) -> None:
        if line.startswith(head):
            self.complaint = line.removeprefix(head).split(" (going on ")[0]


class PlayEngine:
    """Plays and analyses, one request at a time."""

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: _Protocol) -> None:
        self._transport, self._protocol = transport, protocol

    @classmethod
    async def start(cls, net: str) -> "PlayEngine":
        """Start with the network file ``net``, or "material"; raises HelperFailed.

        Returned once it is ready, which takes minutes where everything has to be compiled.
        """
        arguments = ("uci", "--net", net, "--gpus", "cpu", "--threads", "1")
        command = python_command("vecchess_cli.main", *arguments, "--hash-mb", str(HASH_MB))
        transport, protocol = await _Protocol.popen(command, **popen_options())
        step_back(transport.get_pid())
        engine = cls(transport, protocol)
        try:
            await engine._within(READY_S, protocol.initialize())
            await engine._within(READY_S, protocol.configure({"UCI_ShowWDL": True}))
            await engine._within(READY_S, protocol.ping())
            if protocol.complaint:
                raise HelperFailed(protocol.complaint)
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

    async def move(self, board: chess.Board, strength: Strength) -> tuple[chess.Move, Any]:
        """The move it plays, and the line it expects as in ``analyse``, None where it says none.

        Raises HelperFailed.
        """
        play = self._protocol.play(board, strength.limit, info=INFO_ALL, options=strength.options)
        played = await self._within(MOVE_S + GRACE_S, play)
        if played.move is None:
            raise HelperFailed("the engine found no move")
        return played.move, _line(board, played.info) if "wdl" in played.info else None

    async def analyse(self, board: chess.Board, sims: int) -> AsyncIterator[list[dict[str, Any]]]:
        """The best lines so far, a few times a second, and once more at the end.

        Whoever stops listening stops the search. Raises HelperFailed.
        """
        limit = Limit(nodes=sims, time=ANALYSIS_S)
        start = self._protocol.analysis(board, limit, multipv=LINES, info=INFO_ALL)
        analysis = await self._within(GRACE_S, start)
        with analysis:
            shown = monotonic()
            while await self._within(ANALYSIS_S + GRACE_S, analysis.next()) is not None:
                if analysis.empty() and monotonic() - shown >= SHOW_S:
                    yield _lines(board, analysis)
                    shown = monotonic()
            yield _lines(board, analysis)

    async def _within(self, seconds: float, work: Awaitable[T]) -> T:
        try:
            return await asyncio.wait_for(work, seconds)
        except TimeoutError:
            self.kill()
            raise HelperFailed("the engine does not answer; it was ended") from None
        except chess.engine.EngineError as error:
            self.kill()
            raise HelperFailed(self._why(error)) from None

    def _why(self, error: chess.engine.EngineError) -> str:
        return f"the engine ended: {self._protocol.complaint or error}"


def _lines(board: chess.Board, analysis: chess.engine.AnalysisResult) -> list[dict[str, Any]]:
    """The lines of the newest report, the best first."""
    nodes = analysis.info.get("nodes")
    infos = (info for info in analysis.multipv if "wdl" in info and info.get("nodes") == nodes)
    return [_line(board, info) for info in infos]


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
