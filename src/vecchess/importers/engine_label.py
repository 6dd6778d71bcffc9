"""What a UCI engine says of a position, as a label: its choice, its lines and its value.

Half of the policy is the move it chooses, the other half a softmax over the scores of its lines
(MultiPV), in centipawns with temperature TEMPERATURE_CP. Any mate is above any score, and a move
further off it counts as TEMPERATURE_CP less. The value is the engine's win/draw/loss.

Decision 233.
"""

from collections.abc import Mapping, Sequence
from math import exp
from typing import Any

import chess
from chess.engine import Limit, Option, Score

from vecchess.chess.uci_moves import action_of
from vecchess.config.import_settings import EngineConfig
from vecchess.errors import ConfigError
from vecchess.importers.imported_game import PlyLabel
from vecchess.runtime.engines.engine_pipe import EngineFailed, EngineFault
from vecchess.runtime.engines.uci_client import ANSWER_TIMEOUT_S, UciEngine
from vecchess.runtime.engines.uci_info import EngineLine
from vecchess.shapes import TARGET_UNIT

_NODES_PER_MB = 6_000
"""A small hash stays in the processor's cache: 2,000 nodes are 1.1 times as fast as with 16 MB."""
TEMPERATURE_CP = 60.0
_MATE_CP = 1e6
_NODES_PER_S = 1000
"""An engine that is slower hangs."""


def engine_options(nodes: int) -> dict[str, Any]:
    """Options that every engine gets where it has them.

    With one thread and a fresh hash a game can be repeated.
    """
    return {"Threads": 1, "Hash": max(1, nodes // _NODES_PER_MB), "UCI_ShowWDL": True}


def open_engine(command: list[str], nodes: int, multipv: int) -> UciEngine:
    """Start an engine for searches of ``nodes`` that gives ``multipv`` lines.

    Raises ConfigError where that fails.
    """

    def settings(known: Mapping[str, Option]) -> dict[str, Any]:
        chosen = {name: value for name, value in engine_options(nodes).items() if name in known}
        if multipv == 1:
            return chosen
        if "MultiPV" not in known:
            raise ConfigError("the engine gives one line only (no option MultiPV): --multipv 1")
        return chosen | {"MultiPV": multipv}

    return UciEngine(command, settings)


def ask_engine(
    engine: UciEngine, board: chess.Board, game: int, config: EngineConfig, has_target: bool
) -> tuple[chess.Move, PlyLabel | None]:
    """The move that the engine chooses on ``board`` of the numbered ``game``, and its label.

    None where it gives no score. Without ``has_target`` the label is for the move chosen alone.
    Raises EngineFailed with the game and ply.
    """
    try:
        limit, timeout_s = Limit(nodes=config.nodes), config.nodes / _NODES_PER_S + ANSWER_TIMEOUT_S
        move, evaluation = engine.play(board, limit, game, timeout_s)
        if move is None:
            raise EngineFailed(EngineFault.ILLEGAL_MOVE, "it gave up")
        if evaluation is None:
            return move, None
        lines = evaluation.lines if config.multipv > 1 else ()
        target = policy_target(board, move, lines) if has_target else ()
    except EngineFailed as error:
        place = f"game {game}, ply {len(board.move_stack)}"
        raise EngineFailed(error.fault, f"{place}: {error}") from None
    return move, PlyLabel(evaluation.nodes, evaluation.win, evaluation.draw, target)


def policy_target(
    board: chess.Board, chosen: chess.Move, lines: Sequence[EngineLine]
) -> tuple[tuple[int, int], ...]:
    """Action codes, ascending, and their shares in 1/TARGET_UNIT: half for the move ``chosen``,
    half for the moves of ``lines`` by their scores.

    Where no line begins with ``chosen`` its score is that of the best one. Raises EngineFailed for
    a line with an illegal move.
    """
    scores: dict[int, float] = {}
    for line in lines:
        if line.move:
            scores.setdefault(
                action_of(board, _legal_move(board, line.move)), _centipawns(line.score)
            )
    best = max(scores.values(), default=0.0)
    choice = action_of(board, chosen)
    scores.setdefault(choice, best)
    weights = {action: exp((score - best) / TEMPERATURE_CP) for action, score in scores.items()}
    total = sum(weights.values())
    shares = {action: weight / total / 2 for action, weight in weights.items()}
    shares[choice] += 0.5
    rounded = ((action, round(share * TARGET_UNIT)) for action, share in sorted(shares.items()))
    return tuple((action, share) for action, share in rounded if share)


def _legal_move(board: chess.Board, uci: str) -> chess.Move:
    try:
        return board.parse_uci(uci)
    except ValueError as error:
        raise EngineFailed(EngineFault.ILLEGAL_MOVE, f"a line begins with {error}") from None


def _centipawns(score: Score) -> float:
    """A score in centipawns; a mate's is beyond all others, and the further the nearer it is."""
    mate = score.mate()
    if mate is None:
        return float(score.score() or 0)
    far = _MATE_CP - TEMPERATURE_CP * abs(mate)
    return far if mate > 0 else -far
