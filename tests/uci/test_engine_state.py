"""What cannot be opened, while other things change."""

from pathlib import Path

import chess
import pytest

from vecchess.chess.fen import from_board
from vecchess.config import TreeConfig, UciConfig
from vecchess.errors import ConfigError
from vecchess.runtime.reporting import no_report
from vecchess.snn.integer import net_file
from vecchess.uci.engine_options import Options
from vecchess.uci.engine_state import EngineState, tree_config


def test_only_what_failed_is_taken_back(tmp_path: Path) -> None:
    options, told = Options(UciConfig(hash_mb=16, net="material")), list[str]()
    engine = EngineState(options, told.append, no_report)
    good = engine.load(options.config)
    options.set("WeightsFile", str(tmp_path / "missing"))
    options.set("MultiPV", "3")
    failing = options.config
    options.set("SyzygyPath", str(tmp_path))
    assert engine.load(failing) == good.model_copy(update={"multipv": 3})
    assert (options.config.net, options.config.multipv) == ("material", 3)
    assert options.config.syzygy == tmp_path, "it was set later, and not tried yet"
    assert len(told) == 1
    assert told[0].startswith("error: there is no network file")


@pytest.mark.parametrize("content", [None, b"no network"])
def test_it_plays_by_material_where_its_own_network_is_lost(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "default.safetensors"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setattr(net_file, "SHIPPED_NET", file)
    options, told = Options(UciConfig(hash_mb=16)), list[str]()
    engine = EngineState(options, told.append, no_report)
    assert engine.load(options.config).net == "material"
    assert options.config.net == "material"
    assert len(told) == 1
    assert str(file) in told[0]
    assert told[0].endswith("(going on with net material)")


def test_the_tree_stays_where_nothing_of_it_changes() -> None:
    config = UciConfig(hash_mb=16, net="material")
    engine = EngineState(Options(config), no_report, no_report)
    session = engine.session(config)
    assert engine.session(config.model_copy(update={"multipv": 5})) is session
    other = engine.session(config.model_copy(update={"c_puct": 2.0}))
    assert other is not session
    last = engine.session(config, "gumbel", 50)
    assert last is not other
    with pytest.raises(ConfigError):
        engine.open(config.model_copy(update={"syzygy": Path("/nowhere")}))
    assert engine.session(config, "gumbel", 50) is last


def test_what_the_tree_is_told() -> None:
    config = UciConfig(c_puct=2.0, fpu_reduction=0.1, draw_score=-0.5, policy_temperature=1.5)
    tree = tree_config(config, "gumbel", 64)
    assert (tree.c_puct, tree.fpu_reduction, tree.policy_temperature) == (2.0, 0.1, 1.5)
    assert (tree.search, tree.sims, tree.draw_score) == ("gumbel", 64, -0.5)
    analysing = config.model_copy(update={"analyse_mode": True})
    assert tree_config(analysing, "puct", 0).draw_score == 0.0


def test_the_engine_searches_as_every_other_search_does() -> None:
    assert tree_config(UciConfig(), "puct", 100) == TreeConfig(search="puct", sims=100)


def test_priors_have_the_temperature_that_is_set_now() -> None:
    """The cache holds priors, and has to forget them."""
    soft = UciConfig(hash_mb=16, net="tiny", policy_temperature=3.0)
    sharp = soft.model_copy(update={"policy_temperature": 0.5})

    def priors(engine: EngineState, config: UciConfig, search: str = "puct") -> list[int]:
        session = engine.session(config, search, 16)
        session.set_up(from_board(chess.Board()))
        session.begin(0)
        return sorted(map(int, session.root_edges["word"]))

    engine = EngineState(Options(soft), no_report, no_report)
    found = [priors(engine, soft), priors(engine, sharp), priors(engine, soft)]
    assert found[0] == found[2] != found[1]
    assert found[1] == priors(EngineState(Options(sharp), no_report, no_report), sharp)
    plain = soft.model_copy(update={"policy_temperature": 1.0})
    assert priors(engine, soft, "gumbel") == priors(engine, plain, "puct")
