"""Positions a second that a UCI engine labels: our raw pipe, and python-chess's client beside it.

    python bench/label_speed.py data/stockfish --engine stockfish --positions 300 --rounds 3

Both ask an engine of their own about the same positions in turns, with as many nodes and lines,
from a fresh hash each game. The speeds are positions for each second of processor time of the
engine and of this process together, the engine's alone beside them. One JSON object on stdout.
"""

import argparse
import json
import os
import resource
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any

import chess
import chess.engine
import numpy as np

from vecchess.chess.pgn import start_board
from vecchess.chess.uci_moves import to_chess_move
from vecchess.config.import_settings import EngineLabelsConfig
from vecchess.importers.engine_label import ask_engine, engine_options, open_engine
from vecchess.importers.label_games import labelled_plies
from vecchess.importers.recorded_places import recorded_games
from vecchess.runtime.cost_meter import core_seconds
from vecchess.runtime.engines.uci_client import find_engine
from vecchess.store.replay_positions import replay_moves

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
Ask = Callable[[chess.Board, int], Any]


def read_positions(place: Path, most: int) -> list[tuple[int, chess.Board]]:
    """Number of the game and board of every third position, up to ``most``."""
    found: list[tuple[int, chess.Board]] = []
    for game in recorded_games([place], False, print):
        board, plies = (
            start_board(game.start[0]),
            labelled_plies(EngineLabelsConfig(engine=""), game),
        )
        for ply, move in enumerate(replay_moves(game).moves.tolist()):
            if ply in plies:
                found.append((int(game.numbers[0]), board.copy()))
            board.push(to_chess_move(board, move))
        if len(found) >= most:
            break
    return found[:most]


def own_seconds() -> float:
    """Processor time of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(positions: list[tuple[int, chess.Board]], pid: int, ask: Ask) -> dict[str, float]:
    """Seconds of the engine, of this process, and on the clock, for all ``positions``."""
    engine, own, clock = core_seconds([pid]), own_seconds(), monotonic()
    for number, board in positions:
        ask(board, number)
    return {
        "engine": core_seconds([pid]) - engine,
        "own": own_seconds() - own,
        "clock": monotonic() - clock,
    }


def ours(command: list[str], config: EngineLabelsConfig) -> tuple[int, Ask, Callable[[], object]]:
    """Process id, how to ask and how to end: as ``gather label`` does."""
    engine = open_engine(command, config.nodes, config.multipv)
    return (
        engine.pid,
        lambda board, number: ask_engine(engine, board, number, config, True),
        engine.close,
    )


def theirs(command: list[str], config: EngineLabelsConfig) -> tuple[int, Ask, Callable[[], object]]:
    """The same through python-chess."""
    engine = chess.engine.SimpleEngine.popen_uci(command)
    wanted = engine_options(config.nodes)
    engine.configure({name: value for name, value in wanted.items() if name in engine.options})
    limit = chess.engine.Limit(nodes=config.nodes)
    info = chess.engine.INFO_SCORE | chess.engine.INFO_BASIC | chess.engine.INFO_PV

    def ask(board: chess.Board, number: int) -> Any:
        return engine.analyse(board, limit, multipv=config.multipv, game=number, info=info)

    return engine.transport.get_pid(), ask, engine.quit


def compare(
    positions: list[tuple[int, chess.Board]],
    command: list[str],
    config: EngineLabelsConfig,
    rounds: int,
) -> dict[str, Any]:
    """Both in turns, ``rounds`` times; medians."""
    clients = {"raw pipe": ours(command, config), "python-chess": theirs(command, config)}
    seconds: dict[str, list[dict[str, float]]] = {name: [] for name in clients}
    try:
        for turn in range(rounds):
            for name in sorted(clients, reverse=turn % 2 == 1):
                pid, ask, _ = clients[name]
                seconds[name].append(measure(positions, pid, ask))
    finally:
        for _, _, close in clients.values():
            close()
    facts: dict[str, Any] = {"nodes": config.nodes, "multipv": config.multipv}
    for name in clients:
        engine, own, clock = (
            max(median(turn[part] for turn in seconds[name]), 1 / TICKS_PER_S)
            for part in ("engine", "own", "clock")
        )
        facts[name] = {
            "positions_per_core_s": round(len(positions) / (engine + own), 1),
            "engine_alone": round(len(positions) / engine, 1),
            "own_us": round(own / len(positions) * 1e6, 1),
            "positions_per_clock_s": round(len(positions) / clock, 1),
        }
    return facts


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("place", type=Path, help="recorded games")
    parser.add_argument("--engine", default="stockfish")
    parser.add_argument("--positions", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--nodes", type=int, nargs="+", default=[500, 2000])
    parser.add_argument("--multipv", type=int, nargs="+", default=[1, 5])
    options = parser.parse_args()
    positions = read_positions(options.place, options.positions)
    command = find_engine(options.engine)
    results = [
        compare(
            positions,
            command,
            EngineLabelsConfig(engine=options.engine, nodes=nodes, multipv=multipv),
            options.rounds,
        )
        for nodes in options.nodes
        for multipv in options.multipv
    ]
    plies = np.mean([len(board.move_stack) for _, board in positions])
    facts = {"schema": 1, "positions": len(positions), "mean_ply": float(plies), "results": results}
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
