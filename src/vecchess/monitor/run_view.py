"""A run's files, read as they change. Nothing is written."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from vecchess.errors import DataError
from vecchess.evaluate.checkpoints import sort_checkpoints
from vecchess.evaluate.report_file import MOST_REPORT_BYTES
from vecchess.monitor.changing_file import SmallFile
from vecchess.monitor.decoded_game import DecodedGame
from vecchess.monitor.run_games import LiveGamesReader, ManifestTail, RunGames
from vecchess.monitor.run_status import RunStatus, run_status_of
from vecchess.monitor.series import Series
from vecchess.monitor.status_reader import StatusReader
from vecchess.safe_parse import encodable, parse_json_object, parse_toml, to_json_value
from vecchess.store.metrics import METRICS_FILE
from vecchess.store.run_folder import RunFolder
from vecchess.store.stats import GameStats


class RunView:
    """A run, kept up to date by ``refresh``. Unreadable files are left out, never raised."""

    def __init__(self, path: Path) -> None:
        """Read the run at ``path``. Raises ConfigError where there is none."""
        RunFolder.existing(path)
        self.path, self.name = path, encodable(path.resolve().name)
        self.series = Series(path / METRICS_FILE)
        self.status = RunStatus()
        self._config: SmallFile[dict[str, Any]] = SmallFile(path / "config.toml", _toml, {})
        self._history, self._costs = (
            SmallFile[list[dict[str, Any]]](path / "eval" / name, _curve, [], MOST_REPORT_BYTES)
            for name in ("history.json", "cost.json")  # of eval --history, and with --by-cost
        )
        self._status_file = StatusReader(path / "status.json")
        self._manifest = ManifestTail(path / "games")
        self.recorded = RunGames(self._manifest)
        """The recorded games, but for those that were pruned; ``game`` knows more of each."""
        self._live = LiveGamesReader(path / "live")
        self.refresh()

    def refresh(self) -> None:
        """Read what changed since the last call."""
        files = (self._status_file, self._manifest, self._config, self._history, self._costs)
        for file in (*files, self.series):
            file.refresh()
        self.status = run_status_of(
            self.path, self._status_file, self.config, self.stats, self._changed_unix()
        )

    @property
    def config(self) -> dict[str, Any]:
        """The settings of the run, config.toml."""
        return self._config.value

    @property
    def stats(self) -> GameStats:
        """Counts over all recorded games, those of earlier generations too."""
        return self._manifest.stats

    def live_games(self) -> list[DecodedGame]:
        """Some of the games that are being played now, of all workers; none once it is over."""
        if self.status.is_over:
            return []
        return [game for game in self._shown() if game.is_live]

    def game(self, number: int) -> DecodedGame:
        """A recorded game, or one in progress that a worker shows. Raises DataError where there is
        none, or it cannot be read."""
        shown = {game.number: game for game in self._shown()}
        if number in shown and not shown[number].is_live:
            return shown[number]
        if (found := self.recorded.game(number, self._chess960)) is not None:
            return found
        if number in shown and not self.status.is_over:
            return shown[number]
        raise DataError(f"{self.path} has no game {number}, recorded or shown while it is played")

    def last_games(self, most: int) -> list[DecodedGame]:
        """The newest recorded games, the newest first, without those that cannot be read."""
        found = []
        for number in self.recorded.outcomes_of(0, most, backwards=True).numbers.tolist():
            with suppress(DataError):
                found.append(self.game(number))
        return found

    def networks(self) -> list[Path]:
        """nets/*.safetensors, the newest last."""
        try:
            found = sort_checkpoints(self.path / "nets")
            return [one.file for one in found]
        except OSError:
            return []

    def elo(self) -> list[dict[str, Any]]:
        """The rated curve of ``vecchess eval --history``: "player", "samples", "elo", "elo_low",
        "elo_high", ... of each network, the first first; [] where there is none."""
        return self._history.value

    def costs(self) -> list[dict[str, Any]]:
        """The curve of ``vecchess eval --by-cost``, as ``elo``, each network with its "cost"."""
        return self._costs.value

    @property
    def rated_unix(self) -> float:
        """Time of the newest of both ratings; 0.0 where there is none."""
        return max(_mtime(file.path) for file in (self._history, self._costs))

    def _shown(self) -> list[DecodedGame]:
        """Games that workers show: those in progress, and some that ended just now."""
        return self._live.games(self._chess960)

    @property
    def _chess960(self) -> bool:
        game = self.config.get("game")
        return bool(isinstance(game, dict) and game.get("chess960"))

    def _changed_unix(self) -> float:
        """Time of the newest change in the folder's main files."""
        names = ("config.toml", METRICS_FILE, "status.json", "games", "nets")
        return max((_mtime(self.path / name) for name in names), default=0.0)


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _toml(data: bytes) -> dict[str, Any]:
    values: dict[str, Any] = to_json_value(parse_toml(data))
    return values


def _curve(data: bytes) -> list[dict[str, Any]]:
    curve = to_json_value(parse_json_object(data, MOST_REPORT_BYTES)["curve"])
    return [point for point in curve if isinstance(point, dict) and "elo" in point]
