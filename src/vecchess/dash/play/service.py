"""Answers the requests of the play page: games, moves, analyses, spikes (decision 166)."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import chess
from starlette.concurrency import run_in_threadpool

from vecchess.config import DEFAULT_NET, MATERIAL_NET
from vecchess.dash.answers import Busy
from vecchess.dash.play.lent_engines import LentEngines
from vecchess.dash.play.parse_requests import (
    MOST_ANALYSIS_SIMS,
    AnalysisRequest,
    GameRequest,
    MoveRequest,
    NetworkRequest,
    PgnRequest,
    TextRequest,
)
from vecchess.dash.play.play_engine import PlayEngine, PlayStrength
from vecchess.dash.play.play_game import (
    game_facts,
    outcome_of,
    read_game,
    read_text,
    uci_moves,
    with_typed,
    write_pgn,
)
from vecchess.errors import ConfigError
from vecchess.inference.source import find
from vecchess.uci.uci_board import UciGame

IDLE_S = 300.0
"""A process that is unused for so long is ended."""
MOST_ENGINES = 2
MOST_REQUESTS = 16
"""Requests for spikes, moves and analyses that may be open at a time."""
SIMS = (0, 16, 64, 256, 1000)
RATINGS = {MATERIAL_NET: (700, 850, 1000, 1250), DEFAULT_NET: (1250, 1400, 1600, 1800, 1950)}
"""Ratings of UCI_Elo that are offered, of the networks that it was measured for."""
NO_NEURONS = {
    MATERIAL_NET: "The material evaluation has no neurons; without a search it prefers no move.",
    "relu": "The neurons of this network do not spike: it is a ReLU network.",
}
MODULE_UNSEEN = "This network is a module of your own: what spikes in it is not known here."

Networks = Callable[[], Awaitable[Mapping[str, Path]]]
"""Finds the networks, by name, the newest first."""


class PlayService:
    """Answers requests. Writes nothing on disk."""

    def __init__(self, networks: Networks, nets: Sequence[str] = ()) -> None:
        """nets: as ``vecchess uci --net`` takes them, offered by these names."""
        self._networks, self._nets, self._open = networks, tuple(nets), 0
        self.engines = LentEngines(PlayEngine.start, IDLE_S, MOST_ENGINES)
        """Engines by network, as ``vecchess uci --net`` takes it."""

    async def close(self) -> None:
        """End all processes."""
        await self.engines.close()

    @contextmanager
    def request_slot(self) -> Iterator[None]:
        """Count one request for a process's work; raises Busy above the limit."""
        if self._open >= MOST_REQUESTS:
            raise Busy(f"{MOST_REQUESTS} requests are open already: try again shortly")
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    async def offer(self) -> dict[str, Any]:
        """Networks, strengths and limits to choose from."""
        return {
            "schema": 1,
            "networks": [DEFAULT_NET, *self._nets, *await self._networks(), MATERIAL_NET],
            "built_in": MATERIAL_NET,
            "sims": SIMS,
            "ratings": RATINGS,
            "analysis_sims": MOST_ANALYSIS_SIMS,
        }

    async def spike_trace(self, asked: NetworkRequest) -> dict[str, Any]:
        """The network's spikes at the position; raises ConfigError, EngineEnded and Busy."""
        net = await self._net(asked.network)
        game = await run_in_threadpool(_game_with_moves, asked)
        unseen = MODULE_UNSEEN if find(net).kind == "module" else NO_NEURONS.get(net)
        if unseen is not None:
            return {"line": unseen, "layers": [], "values": [], "policy": []}
        async with self.engines.lend(net) as engine:
            seen = await engine.spikes(game)
        return seen | {"line": NO_NEURONS.get(seen.pop("neuron"), "")}

    async def move(self, asked: MoveRequest) -> AsyncIterator[dict[str, Any]]:
        """The game after the network's move, and the line it expects; "starting" may come before.

        Raises ConfigError, EngineEnded and Busy.
        """
        net = await self._net(asked.network)
        game = await run_in_threadpool(_game_with_moves, asked)
        if outcome_of(game.board) is not None:
            raise ConfigError("the game is over")
        if net not in self.engines.running:
            yield {"state": "starting"}
        async with self.engines.lend(net) as engine:
            strength = PlayStrength(asked.sims, asked.elo)
            move, line = await engine.move(game.board, strength)
        after = asked.model_copy(update={"moves": (*uci_moves(game), move.uci())})
        yield {"game": await run_in_threadpool(position, after), "line": line}

    async def analyse(self, asked: AnalysisRequest) -> AsyncIterator[dict[str, Any]]:
        """The network's best lines, repeatedly while it searches; otherwise as ``move``."""
        net = await self._net(asked.network)
        game = await run_in_threadpool(_game_with_moves, asked)
        if net not in self.engines.running:
            yield {"state": "starting"}
        async with self.engines.lend(net) as engine:
            async for lines in engine.analyse(game.board, asked.sims):
                yield {"state": "thinking", "lines": lines}
        yield {"state": "done"}

    async def _net(self, name: str) -> str:
        """The file of the network ``name``, or what ``vecchess uci --net`` takes: names are looked
        up, never opened."""
        if name in (DEFAULT_NET, MATERIAL_NET, *self._nets):
            return name
        try:
            return str((await self._networks())[name])
        except KeyError:
            raise ConfigError(f'there is no network "{name}" any more: choose another') from None


def position(asked: GameRequest) -> dict[str, Any]:
    """The facts of a game; raises ConfigError, as the two below."""
    game = read_game(asked.start, asked.moves)
    if asked.typed is not None:
        game = read_game(asked.start, with_typed(game, asked.typed))
    return game_facts(game)


def game_from_text(asked: TextRequest) -> dict[str, Any]:
    """The facts of a game that is given as text."""
    if asked.chess960 is not None:
        start = chess.Board.from_chess960_pos(asked.chess960)
        return game_facts(read_game(start.fen(), ()))
    return game_facts(read_text(asked.text))


def game_as_pgn(asked: PgnRequest) -> dict[str, Any]:
    """A game as text."""
    game = read_game(asked.start, asked.moves)
    outcome = outcome_of(game.board)
    tags = {
        "Event": "vecchess",
        "Date": asked.date,
        "White": asked.white,
        "Black": asked.black,
        "Result": outcome["result"] if outcome else asked.result,
    }
    if reason := (outcome["reason"] if outcome else asked.termination):
        tags["Termination"] = reason
    return {"pgn": write_pgn(game, tags)}


def _game_with_moves(asked: GameRequest) -> UciGame:
    """The game; raises ConfigError where no move is legal."""
    game = read_game(asked.start, asked.moves)
    if not any(game.board.generate_legal_moves()):
        raise ConfigError("the game is over: there is no legal move")
    return game
