"""Configuration: frozen models, filled from flags, the environment, a TOML file and defaults."""

from vecchess.config.analyse import AnalyseConfig
from vecchess.config.game import GameConfig, parse_temperature
from vecchess.config.load import build, load_config, read_toml, resolve, to_toml
from vecchess.config.match import Adjudication, MatchConfig
from vecchess.config.selfplay import (
    BUILT_IN_NETS,
    CONSTANT_NET,
    MATERIAL_NET,
    PlayConfig,
    SelfplayConfig,
)
from vecchess.config.train import LossConfig, OptimiserConfig, TrainConfig
from vecchess.config.tree import SearchConfig, TreeConfig
from vecchess.config.uci import UciConfig

__all__ = [
    "BUILT_IN_NETS",
    "CONSTANT_NET",
    "MATERIAL_NET",
    "Adjudication",
    "AnalyseConfig",
    "GameConfig",
    "LossConfig",
    "MatchConfig",
    "OptimiserConfig",
    "PlayConfig",
    "SearchConfig",
    "SelfplayConfig",
    "TrainConfig",
    "TreeConfig",
    "UciConfig",
    "build",
    "load_config",
    "parse_temperature",
    "read_toml",
    "resolve",
    "to_toml",
]
