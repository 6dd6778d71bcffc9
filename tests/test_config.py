import os
import re
from pathlib import Path
from threading import Thread
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from vecchess.config import (
    LossConfig,
    OptimiserConfig,
    SelfplayConfig,
    TrainConfig,
    TreeConfig,
    build,
    load_config,
    parse_temperature,
    read_toml,
    to_toml,
)
from vecchess.config.load import MODELS
from vecchess.config.settings import fixed_settings, leaf_fields
from vecchess.errors import ConfigError
from vecchess_cli.commands.train import PANELS


def load(flags=None, file=None, environ=None):
    return load_config(SelfplayConfig, flags or {}, file, environ or {})


def test_flag_beats_environment_beats_file_beats_default(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("games = 3\nseed = 3\nslots = 3\n")
    config = load({"games": 1}, file, {"VECCHESS_GAMES": "2", "VECCHESS_SEED": "2"})
    assert (config.games, config.seed, config.slots, config.movers) == (1, 2, 3, 0)


def test_nested_keys_have_flags_and_variables(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[game]\nmax_plies = 100\nrandom_plies = 2\n")
    config = load({"max_plies": 50}, file, {"VECCHESS_TEMPERATURE": "0.5"})
    assert (config.game.max_plies, config.game.random_plies) == (50, 2)
    assert config.game.temperature == "0.5"


def test_an_unknown_variable_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match='"VECCHESS_GMAES"; did you mean "VECCHESS_GAMES"') as it:
        load({"games": 1}, None, {"VECCHESS_GMAES": "3"})
    assert "\n" not in str(it.value)
    with pytest.raises(ConfigError, match="VECCHESS_"):
        load(None, None, {"VECCHESS_": ""})
    others = {"VECCHESS_REQUIRE_STOCKFISH": "1", "VECCHESS_MAIA": "/nets"}
    others |= {"XVECCHESS_GMAES": "3", "VECCHESS": "3"}
    assert load(None, None, others).games == 64


def test_variables_of_kubernetes_services_are_no_settings() -> None:
    """As in a container beside services named vecchess and vecchess-metrics."""
    environ = {
        "VECCHESS_SERVICE_HOST": "10.0.0.11",
        "VECCHESS_SERVICE_PORT": "80",
        "VECCHESS_SERVICE_PORT_HTTP": "80",
        "VECCHESS_PORT": "tcp://10.0.0.11:80",
        "VECCHESS_PORT_80_TCP": "tcp://10.0.0.11:80",
        "VECCHESS_PORT_80_TCP_PROTO": "tcp",
        "VECCHESS_PORT_80_TCP_PORT": "80",
        "VECCHESS_PORT_80_TCP_ADDR": "10.0.0.11",
        "VECCHESS_METRICS_SERVICE_HOST": "10.0.0.12",
        "VECCHESS_METRICS_PORT": "udp://10.0.0.12:53",
        "VECCHESS_METRICS_PORT_53_UDP_ADDR": "10.0.0.12",
    }
    assert load(None, None, environ) == load(None, None, {})
    assert load(None, None, {"VECCHESS_METRICS_PORT": "9090"}).metrics_port == 9090
    for name in ("VECCHESS_PORT", "VECCHESS_METRIC_PORT", "VECCHESS_SERVICE"):
        with pytest.raises(ConfigError, match=f'unknown variable "{name}"'):
            load(None, None, {name: "9090"})


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("gmaes = 3", 'unknown key "gmaes"; did you mean "games"?'),
        ("[game]\nmax_pleis = 3", 'unknown key "max_pleis"; did you mean "max_plies"?'),
        ("games = -1", "games must be at least 0, got -1"),
        ("games = 'many'", 'games takes a whole number, got "many"'),
        ("slots = 1e400", "slots takes a finite number, got inf"),
        ("games = ", "is not valid TOML"),
        ("[game]\ntemperature = 'hot'", "temperature"),
        ("[game]\nrandom_plies = 9\nmax_plies = 9", "must be below max_plies"),
        ("[game]\nchess960 = true\nopenings = 'a.epd'", "drop one"),
    ],
)
def test_bad_files_give_one_line(tmp_path: Path, text: str, part: str) -> None:
    file = tmp_path / "c.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(file=file)
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        ({"games": "-5"}, "--games must be at least 0, got -5"),
        ({"games": "1e9"}, '--games takes a whole number, got "1e9"'),
        ({"search": "foo"}, '--search must be "none", "gumbel" or "puct", got "foo"'),
        ({"resign_below": "0.7"}, "--resign-below must be below 0.5, got 0.7"),
        ({"full_share": "0"}, "--full-share must be above 0, got 0"),
    ],
)
def test_an_error_names_the_flag_and_the_value(flags: dict[str, str], line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(flags)
    assert str(caught.value) == line


OF_ANOTHER_TYPE = {
    "whole number": ("true", "3.0", "[1]", "{a = 1}", "{}", "1979-05-27", "07:32:00", "'x'"),
    "number": ("true", "[1.5]", "{a = 1}", "1979-05-27T07:32:00Z", "'x'", "nan", "inf"),
    "truth value": ("1", "0.0", "[true]", "{a = true}", "1979-05-27", "'x'"),
    "other": ("true", "7", "1.5", "[[1]]", "[{a = 1}]", "{a = {b = 1}}", "1979-05-27"),
}


def kind_of(annotation: object) -> str:
    """Which of ``OF_ANOTHER_TYPE`` a setting refuses, by the types in its annotation."""
    kinds = {bool: "truth value", int: "whole number", float: "number"}
    inner = [kind_of(part) for part in get_args(annotation)]
    return next(iter({*inner} - {"other"}), kinds.get(annotation, "other"))  # type: ignore[call-overload]


@pytest.mark.thorough
@pytest.mark.parametrize("model", MODELS)
def test_a_value_of_another_type_names_file_and_key_in_one_line(
    tmp_path: Path, model: type[BaseModel]
) -> None:
    """A truth value is no number and a number no truth value, in every setting."""
    file = tmp_path / "c.toml"
    for name, section, owner in leaf_fields(model):
        key = f"{section}.{name}" if section else name
        for value in OF_ANOTHER_TYPE[kind_of(owner.model_fields[name].annotation)]:
            file.write_text(f"{key} = {value}")
            with pytest.raises(ConfigError) as caught:
                load_config(model, {}, file, {})
            line = str(caught.value)
            assert re.fullmatch(rf"{file}: {key}:? (takes|must|should|Input|temp).*", line), line


@pytest.mark.parametrize("model", MODELS)
def test_a_section_that_is_no_table_is_named(tmp_path: Path, model: type[BaseModel]) -> None:
    file = tmp_path / "c.toml"
    for section in {section for _, section, _ in leaf_fields(model)} - {""}:
        for value in ("3", "true", "'x'", "[]", "[{}]", "1979-05-27"):
            file.write_text(f"{section} = {value}")
            with pytest.raises(
                ConfigError, match=f"c.toml: {section} must be a table, got [^\n]*$"
            ):
                load_config(model, {}, file, {})


@pytest.mark.parametrize(
    ("flags", "environ", "line"),
    [
        ({"games": True}, {}, "--games takes a whole number, got true"),
        ({"games": 2.0}, {}, "--games takes a whole number, got 2.0"),
        ({"resign_below": False}, {}, "--resign-below takes a number, got false"),
        ({"exits": 1}, {}, "--exits takes true or false, got 1"),
        ({}, {"VECCHESS_GAMES": "true"}, 'VECCHESS_GAMES takes a whole number, got "true"'),
        ({}, {"VECCHESS_RESIGN_BELOW": "yes"}, 'VECCHESS_RESIGN_BELOW takes a number, got "yes"'),
        ({}, {"VECCHESS_EXITS": "2"}, "VECCHESS_EXITS takes true or false, got 2"),
    ],
)
def test_flags_and_variables_of_another_type(
    flags: dict[str, Any], environ: dict[str, str], line: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(flags, None, environ)
    assert str(caught.value) == line


def test_texts_of_flags_and_variables_are_read_as_what_they_spell() -> None:
    config = load({"games": "3"}, None, {"VECCHESS_EXITS": "0", "VECCHESS_RESIGN_BELOW": "0.25"})
    assert (config.games, config.exits, config.game.resign_below) == (3, False, 0.25)


def test_truth_values_are_no_numbers_in_python_either() -> None:
    for values in ({"games": True}, {"tree": {"sims": True}}, {"game": {"resign_below": True}}):
        with pytest.raises(ConfigError, match="takes a"):
            build(SelfplayConfig, values)
    assert build(SelfplayConfig, {"game": {"resign_below": 0}}).game.resign_below == 0.0


def test_an_error_names_the_variable_or_the_file_with_its_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^VECCHESS_MOVERS must be at most 256, got 999$"):
        load(environ={"VECCHESS_MOVERS": "999"})
    file = tmp_path / "c.toml"
    file.write_text("[game]\nmax_plies = 0")
    with pytest.raises(ConfigError, match=r"c\.toml: game\.max_plies must be at least 1, got 0$"):
        load(file=file)


def test_a_table_has_to_be_one(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("game = 3")
    with pytest.raises(ConfigError, match="must be a table"):
        load({"max_plies": 5}, file)


def test_settings_of_a_run_that_goes_on_take_the_place_of_defaults(tmp_path: Path) -> None:
    before, file = tmp_path / "config.toml", tmp_path / "c.toml"
    begun = load({"games": 7, "seed": 5, "max_plies": 50, "random_plies": 2})
    before.write_text(to_toml(begun))
    file.write_text("games = 9\n[game]\nrandom_plies = 3\n")
    config = load_config(SelfplayConfig, {"slots": 3}, file, {}, before)
    game = begun.game.model_copy(update={"random_plies": 3})
    assert config == begun.model_copy(update={"games": 9, "slots": 3, "game": game})
    file.write_text("game = 3\n")
    with pytest.raises(ConfigError, match=r"c.toml: game must be a table"):
        load_config(SelfplayConfig, {}, file, {}, before)
    before.write_text("gamess = 9\n")
    with pytest.raises(ConfigError, match=r"config.toml: .*gamess"):
        load_config(SelfplayConfig, {}, None, {}, before)
    before.write_text(to_toml(begun))
    with pytest.raises(ConfigError, match="was made by vecchess selfplay: only that resumes it"):
        load_config(TrainConfig, {}, None, {}, before)


def test_a_file_may_be_a_pipe(tmp_path: Path) -> None:
    """As ``--config <(...)`` is, and /dev/stdin."""
    pipe = tmp_path / "c.toml"
    os.mkfifo(pipe)
    Thread(target=pipe.write_text, args=("games = 7",)).start()
    assert load(file=pipe).games == 7


def test_missing_file() -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        load(file=Path("no/such.toml"))


def test_resolved_config_reads_back(tmp_path: Path) -> None:
    config = load({"games": 7, "temperature": "1.0,30:0.5", "openings": Path("a b.epd")})
    file = tmp_path / "config.toml"
    file.write_text(to_toml(config))
    assert SelfplayConfig.model_validate(read_toml(file)) == config


def test_temperature_schedule() -> None:
    assert parse_temperature("0.8") == [(0, 0.8)]
    assert parse_temperature("1.0,30:0.5,60:0") == [(0, 1.0), (30, 0.5), (60, 0.0)]


@pytest.mark.parametrize("text", ["", "x", "1,2", "5:1", "1,30:0.5,20:1", "-1", "1,30:", "nan"])
def test_bad_temperature(text: str) -> None:
    with pytest.raises(ValueError, match="temperature"):
        parse_temperature(text)


@pytest.mark.parametrize(
    "settings",
    [{"c_visit": float("inf")}, {"c_scale": 1e307}, {"c_puct_base": float("nan")}],
)
def test_weights_of_searches_are_numbers_that_can_be_reckoned_with(
    settings: dict[str, float],
) -> None:
    with pytest.raises(ConfigError, match=next(iter(settings))):
        build(TreeConfig, {"search": "gumbel", **settings})


def test_a_list_in_a_variable_is_quoted_as_in_a_shell() -> None:
    flags, environ = {"objective": "supervised"}, {"VECCHESS_DATA": "a.pgn 'my games'"}
    config = load_config(TrainConfig, flags, None, environ)
    assert config.data == (Path("a.pgn"), Path("my games"))
    with pytest.raises(ConfigError, match="VECCHESS_DATA: 'a cannot be split: No closing"):
        load_config(TrainConfig, flags, None, {"VECCHESS_DATA": "'a"})


PLAY_FIXED = {
    "seed", "exits", "net",
    "temperature", "openings", "chess960", "random_plies", "max_plies", "resign_below",
    "resign_turns", "resign_playthrough", "adjudicate_draw_within", "adjudicate_draw_plies",
    "search", "sims", "considered", "c_visit", "c_scale", "c_puct", "c_puct_base", "c_puct_factor",
    "fpu_reduction", "root_fpu_reduction", "policy_temperature", "solve", "see_mates", "draw_score",
    "syzygy", "fast_sims", "full_share", "noise_fraction", "noise_concentration", "forced_playouts",
    "reuse",
}  # fmt: skip
PLAY_FREE = {
    "gpus", "slots", "concurrent_games", "movers", "backend", "threads", "shard_games",
    "shard_interval_s", "inflight_interval_s", "stall_timeout_s", "metrics_port", "metrics_host",
    "cache_mb", "tree_mb", "keep_gb", "executor", "block_seats", "verify_share", "ray_address",
}  # fmt: skip
TRAIN_FIXED = {
    "objective", "history", "tactical", "move_inputs", "init_from", "positions_per_iter", "seats",
    "data", "data_share", "lag", "holdout",
}  # fmt: skip
TRAIN_FREE = {
    "iterations", "epochs", "batch_size", "micro_batch", "samples_per_position",
    "window_positions", "loaders", "mirror", "precision", "surrogate", "fold_at",
    "checkpoint_every", "keep_checkpoints", "keep_every", "eval_every", "eval_games", "gate",
    "gate_games", "log_every", "rank_timeout_s", "nnodes", "node_rank", "master_addr",
    "master_port",
    *LossConfig.model_fields, *OptimiserConfig.model_fields,
}  # fmt: skip


@pytest.mark.parametrize(
    ("model", "fixed", "free"),
    [
        (SelfplayConfig, PLAY_FIXED, PLAY_FREE | {"games"}),
        (TrainConfig, PLAY_FIXED | TRAIN_FIXED, PLAY_FREE | TRAIN_FREE),
    ],
)
def test_every_setting_is_fixed_or_free_in_a_resumed_run(
    model: type[BaseModel], fixed: set[str], free: set[str]
) -> None:
    """A new setting has to be put into one of the two."""
    names = [name for name, *_ in leaf_fields(model)]
    found = {name for name, _ in fixed_settings(model)}
    assert (found, set(names) - found, len(names)) == (fixed, free, len(fixed) + len(free))


def test_defaults_follow_the_objective() -> None:
    """Judged games teach their judgement, games of a search their results as well."""
    recorded = {"objective": "supervised", "data": ["games"]}
    shares = {
        1.0: [recorded, recorded | {"loss": {"clip": 0.1}}],
        0.25: [{}, {"objective": "ppo"}, recorded | {"loss": {"root_value_share": 0.25}}],
    }
    for share, settings in shares.items():
        for values in settings:
            assert build(TrainConfig, values).loss.root_value_share == share, values
    traces = {"alphazero": 0.7, "supervised": 0.7, "ppo": 0.9, "reinforce": 0.9}
    for objective, trace in traces.items():
        loss = {"td_lambda": 0.7, "gae_lambda": 0.9}
        values = {"objective": objective, "loss": loss} | (
            {"data": ["games"]} if objective == "supervised" else {}
        )
        assert build(TrainConfig, values).trace == trace
    temperatures = {"alphazero": "1.0,30:0.5", "ppo": "1.0"}
    for objective, temperature in temperatures.items():
        values = {"objective": objective, "game": {"max_plies": 100}}
        assert build(TrainConfig, values).game.temperature == temperature
        assert build(TrainConfig, {"game": {"temperature": "1"}}).game.temperature == "1"


def test_every_setting_of_training_has_an_option_or_stands_on_its_page() -> None:
    page = (Path(__file__).parent.parent / "docs/commands/train.md").read_text()
    options = " ".join(PANELS.values()).split()
    named = [name for name, *_ in leaf_fields(TrainConfig) if name not in options]
    assert [name for name in named if f"`{name}`" not in page] == []
