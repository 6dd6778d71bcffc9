"""Settings: frozen models, filled from flags, the environment, a TOML file and defaults.

- ``settings`` the base of the models; what is wrong with a value in plain words
- ``load`` fills a model from flags, ``VECCHESS_*`` variables, a TOML file and defaults
- ``game_settings``, ``search_settings`` how a game is played, how a move is searched
- ``selfplay_settings``, ``train_settings``, ``match_settings``, ``analysis_settings``,
  ``uci_settings``, ``bench_settings``, ``import_settings`` the settings of a command
- ``backend`` the names of backends
"""

from vecchess.config.analysis_settings import AnalyseConfig
from vecchess.config.game_settings import GameConfig, parse_temperature
from vecchess.config.load import load_config, read_toml, resolve, to_toml
from vecchess.config.match_settings import Adjudication, MatchConfig
from vecchess.config.search_settings import SearchConfig, TreeConfig
from vecchess.config.selfplay_settings import (
    BUILT_IN_NETS,
    CONSTANT_NET,
    DEFAULT_NET,
    MATERIAL_NET,
    ContributeConfig,
    DeviceConfig,
    PlayConfig,
    SelfplayConfig,
)
from vecchess.config.settings import build
from vecchess.config.train_settings import LossConfig, OptimiserConfig, TrainConfig
from vecchess.config.uci_settings import UciConfig

__all__ = [
    "BUILT_IN_NETS",
    "CONSTANT_NET",
    "DEFAULT_NET",
    "MATERIAL_NET",
    "Adjudication",
    "AnalyseConfig",
    "ContributeConfig",
    "DeviceConfig",
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
