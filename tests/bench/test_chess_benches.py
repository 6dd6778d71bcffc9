"""The chess benchmarks run and return what they promise; how fast is never asserted."""

from pathlib import Path

import pytest

from vecchess.bench import movegen_speed as movegen
from vecchess.bench import perft_speed as perft
from vecchess.errors import ConfigError
from vecchess.runtime.engines import uci_client

KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"


def test_perft_counts_one_position_or_six() -> None:
    one = perft.run(KIWIPETE, 3)
    assert (one["schema"], one["nodes"]) == (1, 97862)
    six = perft.run(depth=2)
    assert [row["nodes"] for row in six["positions"]] == [400, 2039, 191, 264, 1486, 2079]
    assert six["nodes_per_s"] > 0


@pytest.mark.stockfish
def test_perft_runs_beside_stockfish() -> None:
    result = perft.run(KIWIPETE, 3, against="stockfish")
    assert result["ratio"] == pytest.approx(result["nodes_per_s"] / result["stockfish_nodes_per_s"])


def test_perft_refuses_what_it_cannot_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="bad FEN"):
        perft.run("x", 1)
    for depth in (1, 3):
        with pytest.raises(ConfigError, match=f"no line of {depth} plies"):
            perft.run("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", depth)
    with pytest.raises(ConfigError, match="not 'crafty'"):
        perft.run(against="crafty")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(uci_client, "GAMES_FOLDER", str(tmp_path))
    with pytest.raises(ConfigError, match='no engine "stockfish"'):
        perft.run(against="stockfish")


@pytest.mark.thorough
def test_movegen_plays_the_same_games_with_any_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    one = movegen.run(10, 1, 5)
    monkeypatch.setattr(movegen, "_MOST_PART", 2)
    two = movegen.run(10, 2, 5)
    for result in (one, two):
        assert sum(result["outcomes"].values()) == result["games"] == 10
        assert result["ratio_python_chess"] > 1
    assert one["outcomes"] == two["outcomes"]
    assert one["plies"] == two["plies"]
    assert two["speedup_two_threads"] > 0
