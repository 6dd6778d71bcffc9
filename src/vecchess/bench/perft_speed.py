"""``bench perft``: leaves/s of the move generator, compared with Stockfish in the same run."""

from statistics import geometric_mean
from time import perf_counter
from typing import Any, NamedTuple

from vecchess.chess.perft import perft
from vecchess.errors import ConfigError
from vecchess.runtime.engines.engine_pipe import EnginePipe
from vecchess.runtime.engines.uci_client import find_engine

SCHEMA = 1


class PerftCase(NamedTuple):
    """A position of chessprogramming.org's *Perft Results*, with the depth to time it at."""

    name: str
    fen: str
    depth: int


SIX = (
    PerftCase("start", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 6),
    PerftCase(
        "kiwipete", "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 5
    ),
    PerftCase("position 3", "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 7),
    PerftCase("position 4", "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1", 5),
    PerftCase("position 5", "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8", 5),
    PerftCase(
        "position 6", "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10", 5
    ),
)


def run(
    fen: str | None = None, depth: int | None = None, against: str | None = None
) -> dict[str, Any]:
    """Time perft on one core: the six well-known positions, or one FEN at one depth.

    Leaves are counted from complete move lists. ``against="stockfish"`` runs its
    ``go perft`` between ours, position by position. Returns nodes, nodes/s and a row for each
    position; nodes/s and ratio over several are geometric means. Raises ConfigError for a bad FEN,
    an unknown opponent, or a Stockfish that is missing or counts differently.
    """
    cases = _cases(fen, depth)
    opponent = _opponent(against)
    perft(cases[0].fen, 1)  # compile before the clock runs
    rows = [_row(case, opponent) for case in cases]
    result = {
        "schema": SCHEMA,
        "nodes": sum(row["nodes"] for row in rows),
        "nodes_per_s": geometric_mean(row["nodes_per_s"] for row in rows),
        "positions": rows,
    }
    if opponent is not None:
        for name in ("stockfish_nodes_per_s", "ratio"):
            result[name] = geometric_mean(row[name] for row in rows)
    return result


def _cases(fen: str | None, depth: int | None) -> list[PerftCase]:
    chosen = SIX if fen is None else (PerftCase("given", fen, 5),)
    return [case._replace(depth=depth or case.depth) for case in chosen]


def _row(case: PerftCase, opponent: list[str] | None) -> dict[str, Any]:
    start = perf_counter()
    nodes = perft(case.fen, case.depth)
    elapsed = perf_counter() - start
    if not nodes:
        raise ConfigError(f"'{case.fen}' has no line of {case.depth} plies to be counted")
    row = {**case._asdict(), "nodes": nodes, "s": elapsed, "nodes_per_s": nodes / elapsed}
    if opponent is not None:
        theirs, elapsed = stockfish_perft(opponent, case.fen, case.depth)
        if theirs != nodes:
            raise ConfigError(
                f"perft {case.depth} of '{case.fen}': {nodes} leaves here, {theirs} by Stockfish"
            )
        row["stockfish_nodes_per_s"] = theirs / elapsed
        row["ratio"] = row["nodes_per_s"] / row["stockfish_nodes_per_s"]
    return row


def _opponent(against: str | None) -> list[str] | None:
    if against not in (None, "stockfish"):
        raise ConfigError(f"bench perft can run against 'stockfish', not '{against}'")
    return find_engine(against) if against else None


def stockfish_perft(command: list[str], fen: str, depth: int) -> tuple[int, float]:
    """Leaves and seconds of Stockfish's ``go perft``, one thread, start-up not counted.

    Raises ConfigError where it cannot be started, EngineFailed where it ends without an answer.
    """
    engine = EnginePipe(command)
    try:
        engine.send(f"setoption name UCI_Chess960 value true\nposition fen {fen}\nisready")
        engine.read_until("readyok", None)
        start = perf_counter()
        engine.send(f"go perft {depth}")
        answer = engine.read_until("Nodes", None)[-1]
        return int(answer.split(":")[1]), perf_counter() - start
    finally:
        engine.close()
