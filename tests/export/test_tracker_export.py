"""Measurements in experiment trackers: what their libraries are given, and MLflow's own reading."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from vecchess.errors import ConfigError, DataError
from vecchess.export.tracker_export import export_tracker, run_points
from vecchess.store.metrics import METRICS_FILE, MetricsLog


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A training's folder with six lines of measurements, one of them without a number."""
    folder = tmp_path / "first"
    folder.mkdir()
    log = MetricsLog(folder)
    log.write("load", 1, 0, 0, {"games": 7, "plies_per_s": 512.5, "verdict": "starved"})
    log.write("play", 1, 0, 0, {"games": 9})
    log.write("learn", 1, 20, 640, {"loss": 2.5, "spikes": {"heads": 0.25}, "lr": float("nan")})
    for player, opponent in (("policy", "random"), ("net:a?x=1 b", "random")):
        match = {"player": player, "opponent": opponent, "score": 0.5, "elo": 12.0, "wins": 3}
        log.write("eval", 1, 20, 640, match)
    log.write("note", 1, 20, 640, {"text": "nothing"})
    log.close()
    return folder


def fake(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> None:
    module = ModuleType(name)
    vars(module).update(members)
    monkeypatch.setitem(sys.modules, name, module)


class FakeRun:
    """Notes the calls of a run of trackio or wandb."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def init(self, **settings: Any) -> "FakeRun":
        self.calls.append(("init", settings))
        return self

    def log(self, values: dict[str, float], step: int | None = None) -> None:
        self.calls.append(("log", values, step))

    def define_metric(self, name: str, step_metric: str) -> None:
        self.calls.append(("axis", name, step_metric))

    def finish(self) -> None:
        self.calls.append(("finish",))


OWN = {"eval/elo/net:a?x=1_b-random": 12.0, "eval/score/net:a?x=1_b-random": 0.5}
OWN_AND_HEADLINE = OWN | {"eval/elo": 12.0}


def test_points_have_the_tags_and_steps_of_tensorboard(run: Path) -> None:
    points = [(one.values, one.step) for one in run_points(run)]
    assert points == [
        ({"selfplay/games": 9.0}, 0),
        ({"train/loss": 2.5, "train/spikes/heads": 0.25}, 20),
        ({"eval/elo/policy-random": 12.0, "eval/score/policy-random": 0.5}, 20),
        (OWN_AND_HEADLINE, 20),
    ]


def test_the_load_of_selfplay_alone_is_logged_by_its_games(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path)
    log.write("load", 0, 0, 0, {"games": 7, "plies_per_s": 512.5})
    log.close()
    [points] = run_points(tmp_path)
    assert (points.values, points.step) == ({"selfplay/games": 7, "selfplay/plies_per_s": 512.5}, 7)


def test_trackio(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, "trackio", init=(made := FakeRun()).init)
    assert export_tracker(run, "trackio", "chess") == 8
    assert made.calls[0] == ("init", {"project": "chess", "name": "first", "embed": False})
    assert made.calls[2] == ("log", {"train/loss": 2.5, "train/spikes/heads": 0.25}, 20)
    assert made.calls[-1] == ("finish",)


def test_wandb_is_offline_and_has_an_axis_for_each_group(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(monkeypatch, "wandb", init=(made := FakeRun()).init)
    assert export_tracker(run, "wandb", "chess") == 8
    assert made.calls[0][1]["mode"] == "offline"
    assert made.calls[0][1]["dir"] == str(run)
    axes = [call[1:] for call in made.calls if call[0] == "axis"]
    assert axes == [(f"{group}/*", f"{group}/step") for group in ("selfplay", "train", "eval")]
    assert ("log", OWN_AND_HEADLINE | {"eval/step": 20}, None) in made.calls
    assert made.calls[-1] == ("finish",)


def test_mlflow(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, ...]] = []

    class Client:
        def __init__(self, tracking_uri: str) -> None:
            calls.append(("uri", tracking_uri))

        def get_experiment_by_name(self, name: str) -> None:
            return None

        def create_experiment(self, name: str) -> str:
            return f"id of {name}"

        def create_run(self, experiment: str, run_name: str) -> Any:
            calls.append(("run", experiment, run_name))
            return SimpleNamespace(info=SimpleNamespace(run_id="r"))

        def log_batch(self, run_id: str, metrics: list[Any]) -> None:
            calls.append(("log", run_id, [(m[0], m[1], m[3]) for m in metrics]))

        def set_terminated(self, run_id: str) -> None:
            calls.append(("end", run_id))

    entities = SimpleNamespace(Metric=lambda *given: given)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    fake(monkeypatch, "mlflow", MlflowClient=Client, entities=entities)
    assert export_tracker(run, "mlflow", "chess") == 8
    assert calls[0] == ("uri", f"sqlite:///{(run / 'mlflow.db').resolve()}")
    assert calls[1] == ("run", "id of chess", "first")
    assert calls[5] == (
        "log",
        "r",
        [
            ("eval/elo/net:a_x_1_b-random", 12.0, 20),
            ("eval/score/net:a_x_1_b-random", 0.5, 20),
            ("eval/elo", 12.0, 20),
        ],
    )
    assert calls[-1] == ("end", "r")


def test_what_cannot_be_logged(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="no tracker 'excel'; there are trackio, wandb, mlflow"):
        export_tracker(run, "excel", "chess")
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(ConfigError, match="wandb is not installed: pip install wandb"):
        export_tracker(run, "wandb", "chess")
    with pytest.raises(ConfigError, match=r"is no run with measurements: it has no metrics\.jsonl"):
        export_tracker(tmp_path, "wandb", "chess")


@pytest.mark.parametrize(
    "line",
    [
        "{}",
        '{"kind": "learn", "time_unix": 1.0, "loss": 1.0}',
        '{"kind": "learn", "time_unix": 1.0, "loss": 1.0, "step": "x"}',
        '{"kind": "learn", "time_unix": 1.0, "loss": 1.0, "step": null}',
        '{"kind": "learn", "time_unix": 1.0, "loss": 1.0, "step": 1e400}',
        '{"kind": "learn", "time_unix": 1.0, "loss": 1%s, "step": 1}' % ("0" * 400),
    ],
)
def test_a_damaged_log_is_one_line(run: Path, line: str) -> None:
    with (run / METRICS_FILE).open("a") as log:
        log.write(f"{line}\n")
    with pytest.raises(DataError, match=r"^line 7 of .*metrics\.jsonl is damaged: "):
        export_tracker(run, "trackio", "chess")


def test_an_error_of_the_library_is_one_line(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**settings: Any) -> None:
        raise RuntimeError("no\nroom")

    fake(monkeypatch, "trackio", init=refuse)
    with pytest.raises(DataError, match="trackio failed: no room"):
        export_tracker(run, "trackio", "chess")
