"""A run as onlookers see it, while it goes on and after."""

import hashlib
import json
import os
import shutil
import time
from pathlib import Path

import chess
import numpy as np
import pytest

from tests.export.made import games_of, played, searched
from tests.monitor.runs import (
    MadeRun,
    joined,
    load,
    match,
    numbered,
    selfplay_run,
    so_far,
    training_run,
    worker,
)
from vecchess.chess.uci import to_chess_move
from vecchess.errors import ConfigError, DataError
from vecchess.monitor.charts import charts
from vecchess.monitor.live_game import LiveGame
from vecchess.monitor.moves import Moves
from vecchess.monitor.run_view import RunView
from vecchess.store.shard import read_shard
from vecchess.store.stats import GameStats


def state_of(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def check_moves(game: LiveGame) -> None:
    """SAN, UCI and FEN tell the same game."""
    board = chess.Board(game.start_fen, chess960=game.chess960)
    for uci, san in zip(game.ucis, game.sans, strict=True):
        assert board.parse_san(san) == board.parse_uci(uci)
        board.push_uci(uci)
    assert board.fen() == game.fen
    lists = (game.white_score, game.win, game.draw, game.steps, game.visits)
    assert {len(one) for one in lists} == {len(game.ucis)}


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"is not a run: it has no config\.toml"):
        RunView(tmp_path)


def test_a_run_is_seen_and_not_touched(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / "first")
    before = state_of(made.path)
    view = RunView(made.path)
    assert view.name == "first"
    assert view.config["net"] == "small"
    assert view.standing.state == "playing"
    assert not view.standing.is_over
    assert view.standing.why == view.standing.go_on == ""
    assert view.stats == GameStats.of(joined(played(), searched().take(np.arange(4))))
    assert view.series.kinds == {"load": 12}
    assert [game.number for game in view.boards()] == [100, 101, 102, 103]
    view.game(9)
    view.refresh()
    json.dumps(view.standing.to_dict())
    assert state_of(made.path) == before


@pytest.mark.timeout(60)
def test_pipes_among_the_files_are_left_alone(tmp_path: Path) -> None:
    """To open one that nobody writes to would last for ever."""
    made = selfplay_run(tmp_path / "first")
    shard = next((made.path / "games").glob("*.npz"))
    names = ("status.json", "metrics.jsonl", "games/manifest.jsonl", "live/000.npz")
    (made.path / "eval").mkdir()
    for file in (shard, made.path / "eval" / "history.json", *map(made.path.joinpath, names)):
        file.unlink(missing_ok=True)
        os.mkfifo(file)
    view = RunView(made.path)
    assert (view.standing.state, view.stats.games, view.series.kinds) == ("unknown", 0, {})
    assert view.boards() == view.elo() == []
    with pytest.raises(DataError, match="no regular file"):
        read_shard(shard)


def test_refreshing_finds_what_is_new_and_nothing_else(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / "first")
    view = RunView(made.path)
    assert not view.refresh()
    made.measure("load", **load(plies_per_s=1.0))
    assert view.refresh()
    assert (view.series.last("load") or {})["plies_per_s"] == 1.0
    made.record(numbered(played(), 50))
    assert view.refresh()
    assert view.stats.games == 20
    assert view.game(57).number == 57
    made.status(games=121)
    assert view.refresh()
    assert view.standing.games == 121
    assert not view.refresh()


@pytest.mark.parametrize("chess960", [False, True])
def test_recorded_games_are_told_as_they_were_played(chess960: bool, tmp_path: Path) -> None:
    made = MadeRun(tmp_path, chess960=chess960)
    records = searched(chess960)
    made.record(records)
    view = RunView(tmp_path)
    for known in games_of(records, chess960):
        game = view.game(known.number)
        check_moves(game)
        board = known.start_board()
        for move, uci in zip(known.moves, game.ucis, strict=True):
            played_move = to_chess_move(board, int(move))
            assert board.uci(played_move) == uci
            board.push(played_move)
        assert game.net == known.nets[-1]
        assert game.termination == known.termination.name.lower()
        assert game.result == {1: "1-0", 0: "1/2-1/2", -1: "0-1"}[known.result]
        assert (game.is_live, game.worker, game.seat) == (False, None, -1)
        white = [s for s in game.white_score[::2] if s is not None]
        mover = (known.balance[::2][known.judged[::2]] + 1) / 2
        assert white == pytest.approx(mover.tolist(), abs=1e-4)
        black = [s for s in game.white_score[1::2] if s is not None]
        other = (1 - known.balance[1::2][known.judged[1::2]]) / 2
        assert black == pytest.approx(other.tolist(), abs=1e-4)


def test_games_in_progress_are_followed_move_by_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = selfplay_run(tmp_path / "first")
    view = RunView(made.path)
    first = view.boards()
    for game in first:
        check_moves(game)
        assert game.is_live
        assert game.result == "*"
        assert game.termination == "ongoing"
        assert game.worker == 0
    assert [len(game.sans) for game in first] == [10, 4, 0, 30]
    assert [game.seat for game in first] == [0, 1, 2, 3]
    begun: list[int] = []
    monkeypatch.setattr(
        "vecchess.monitor.games.Moves", lambda *given: begun.append(1) or Moves(*given)
    )
    made.show(0, numbered(so_far(played(), [12, 5, 1, 31]), 100))
    later = view.boards()
    assert [len(game.sans) for game in later] == [12, 5, 1, 31]
    assert not begun, "games that go on are not decoded from the start"
    assert all(b.sans[: len(a.sans)] == a.sans for a, b in zip(first, later, strict=True))
    assert len(first[0].sans) == 10, "what was handed out stays"
    made.show(0, numbered(so_far(played(), [12, 5, 1]), 200))
    assert [game.number for game in view.boards()] == [200, 201, 202]
    assert len(begun) == 3
    assert view.game(201).is_live
    (made.path / "live" / "000.npz").unlink()
    assert view.boards() == []


def test_a_game_that_is_not_there_is_named(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path)
    with pytest.raises(DataError, match="no game 77, recorded or shown while it is played"):
        RunView(made.path).game(77)


def test_networks_come_in_the_order_in_which_they_were_learnt(tmp_path: Path) -> None:
    made = MadeRun(tmp_path, "train")
    for samples in (1000, 0, 256):
        made.net(samples, samples)
    names = [net.stem.removeprefix(tmp_path.name) for net in RunView(tmp_path).networks()]
    assert names == ["-s0-d0", "-s256-d256", "-s1000-d1000"]


def test_the_rated_curve_is_read(tmp_path: Path) -> None:
    made = MadeRun(tmp_path, "train")
    view = RunView(tmp_path)
    assert view.elo() == []
    (tmp_path / "eval").mkdir()
    history = {"schema": 1, "curve": [{"player": "a", "elo": 12.0}, {"player": "b"}, 7]}
    (tmp_path / "eval" / "history.json").write_text(json.dumps(history))
    assert view.refresh()
    assert view.elo() == [{"player": "a", "elo": 12.0}]
    (made.path / "eval" / "history.json").write_text("{")
    assert view.refresh()
    assert view.elo() == []


def test_several_machines_are_one_run(tmp_path: Path) -> None:
    made = training_run(tmp_path, 1, 1)
    made.status(load=load(), games=100, target=200, eta_s=5.0)
    view = RunView(tmp_path)
    made.record(numbered(played(), 500), machine=1)
    made.show(3, numbered(so_far(played(), [3]), 600), machine=1)
    made.status(
        machine=1, load=load(plies_per_s=582.0), games=7, target=50, eta_s=60.0, restarts=1,
        workers=[worker(3, gpu=True)],
        notes=[{"time_unix": 5.0, "line": "gpu 3#3 died"}],
    )  # fmt: skip
    assert view.refresh()
    standing = view.standing
    assert standing.machines == 2
    assert (standing.games, standing.target, standing.eta_s) == (107, 250, 60.0)
    assert standing.restarts == 1
    assert standing.load["plies_per_s"] == 10_000.0
    assert standing.load["batch_fill"] == 0.97
    assert [(one["machine"], one["index"]) for one in standing.workers] == [(0, 0), (0, 1), (1, 3)]
    assert standing.notes == [{"time_unix": 5.0, "line": "gpu 3#3 died", "machine": 1}]
    assert standing.verdict.words == "GPU-bound"
    assert [(game.machine, game.worker) for game in view.boards()] == [(1, 3)]
    assert view.game(503).machine == 1
    assert view.game(600).is_live
    assert view.stats.games == 16


def test_a_machine_that_falls_silent_is_noted(tmp_path: Path) -> None:
    made = training_run(tmp_path, 1, 1)
    made.status(machine=1, updated_unix=time.time() - 18_000, pid=2**22 + 1)
    notes = RunView(tmp_path).standing.notes
    assert [note["line"] for note in notes] == ["machine 1 was last heard of 5 h ago"]


@pytest.mark.parametrize(
    ("changes", "state", "why"),
    [
        ({"state": "done"}, "done", "all done in 0:01:35"),
        ({"state": "stopped", "why": "SIGINT"}, "stopped", "stopped by SIGINT"),
        ({"state": "failed", "why": "no room"}, "failed", "failed: no room"),
    ],
)
def test_a_run_that_ended_says_how(
    changes: dict[str, str], state: str, why: str, tmp_path: Path
) -> None:
    made = selfplay_run(tmp_path / "the run")
    made.status(**changes)
    view = RunView(made.path)
    assert view.standing.state == state
    assert view.standing.is_over
    assert view.standing.why == why
    assert view.standing.workers == []
    assert view.boards() == [], "nothing is being played any more"
    go_on = f"vecchess selfplay --run-dir '{made.path}' --resume"
    assert view.standing.go_on == ("" if state == "done" else go_on)


def test_a_run_that_was_killed_is_gone_once_it_is_silent(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path)
    made.killed(0.0)
    view = RunView(tmp_path)
    assert view.standing.state == "playing", "it may be at work on something long"
    made.killed(18_000.0)
    assert view.refresh()
    assert view.standing.state == "playing", "we saw it change just now, whatever its clock says"
    standing = RunView(tmp_path).standing
    assert (standing.state, standing.is_over) == ("gone", True)
    assert standing.why == "killed, or its machine went down; last heard of 5 h ago"
    assert standing.go_on.endswith("--resume")


def test_silence_is_no_death_while_the_process_is_there(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path)
    made.status(updated_unix=time.time() - 100)
    assert RunView(tmp_path).standing.state == "playing"
    made.status(updated_unix=time.time() - 100, host="elsewhere")
    assert RunView(tmp_path).standing.state == "gone"


def test_runs_of_before_are_read_as_far_as_they_say(tmp_path: Path) -> None:
    made = MadeRun(tmp_path)
    made.record(played())
    stats = GameStats.of(played()).to_dict()
    summary = {"schema": 1, "target": 8, "stopped_by": "", "seconds": 60.0, "restarts": 1, **stats}
    (tmp_path / "status.json").write_text(json.dumps(summary))
    view = RunView(tmp_path)
    assert (view.standing.state, view.standing.games, view.standing.target) == ("done", 8, 8)
    assert view.standing.why == "all done in 0:01:00"
    assert view.standing.stats == GameStats.of(played())
    (tmp_path / "status.json").write_text(json.dumps(summary | {"stopped_by": "SIGTERM"}))
    assert view.refresh()
    assert view.standing.why == "stopped by SIGTERM"
    (tmp_path / "status.json").unlink()
    assert view.refresh()
    assert (view.standing.state, view.standing.is_over) == ("unknown", False)
    for file in [tmp_path, *tmp_path.rglob("*")]:
        os.utime(file, (1e9, 1e9))
    view.refresh()
    assert view.standing.is_over, "a minute without a change: it ended, or was killed"


STATUS_FILES = [
    b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"schema": 3, "state": "playing"}',
    b'{"schema": 2}', b'{"schema": 2, "state": 5, "workers": 7, "load": [], "stats": "x"}',
    b'{"schema": 2, "state": "playing", "games": "many", "pid": "x", "notes": [1, {}],'
    b' "workers": [3, {"index": 0}], "stats": {"games": "x", "lengths": 4}, "eta_s": null,'
    b' "updated_unix": null, "load": {"verdict": 7, "plies_per_s": "x"}}',
    b'{"schema": 2, "state": "playing", "pid": 1e300, "updated_unix": 1e300}',
]  # fmt: skip


@pytest.mark.parametrize("data", STATUS_FILES)
def test_any_status_can_be_looked_at(data: bytes, tmp_path: Path) -> None:
    made = selfplay_run(tmp_path)
    view = RunView(tmp_path)
    (tmp_path / "status.json").write_bytes(data)
    assert view.refresh()
    json.dumps(view.standing.to_dict())
    assert view.stats.games == 12
    made.status()
    assert view.refresh()
    assert view.standing.state == "playing"


def test_what_is_damaged_is_left_out(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path)
    view = RunView(tmp_path)
    live = made.show(1, numbered(so_far(played(), [9]), 300))
    live.write_bytes(live.read_bytes()[:200])
    assert {game.worker for game in view.boards()} == {0}
    bad = so_far(played(), [3, 3])
    bad.action[0] = 0  # a1a2, where a pawn stands
    made.show(1, numbered(bad, 300))
    assert [game.number for game in view.boards() if game.worker == 1] == [301]
    with (tmp_path / "games" / "manifest.jsonl").open("ab") as file:
        file.write(b'garbage\n{"schema": 3, "fi')
    assert view.refresh()
    assert view.stats.games == 12
    (tmp_path / "games" / "w0.npz").write_bytes(b"PK")
    with pytest.raises(DataError):
        RunView(tmp_path).game(0)
    assert RunView(tmp_path).game(9).number == 9
    (tmp_path / "config.toml").write_text("seed = ")
    assert view.refresh()
    assert view.config == {}


def test_a_run_that_vanishes_is_said_to(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / "first")
    view = RunView(made.path)
    shutil.rmtree(made.path)
    assert view.refresh()
    assert view.standing.state == "unknown"
    assert view.standing.is_over
    assert view.standing.why.startswith(f"{made.path} is gone")
    assert view.stats.games == 0
    assert view.series.kinds == {}
    assert view.boards() == []
    assert view.networks() == []


@pytest.mark.parametrize(
    ("given", "gpu", "words", "advice"),
    [
        ({}, False, "CPU-bound", "or a GPU"),
        ({}, True, "GPU-bound", "as it should be"),
        ({"verdict": "mover-bound", "mover_busy": 0.99}, True, "CPU-bound", "the GPU waits"),
        ({"verdict": "mover-bound", "mover_busy": 0.99}, False, "CPU-bound", "moves take longer"),
        ({"verdict": "starved", "device_busy": 0.2}, False, "starved", "more --concurrent-games"),
        ({"verdict": "starved", "batch_fill": 0.2}, False, "starved", "all games left"),
    ],
)  # fmt: skip
def test_verdicts_say_what_to_do(
    given: dict[str, object], gpu: bool, words: str, advice: str, tmp_path: Path
) -> None:
    made = MadeRun(tmp_path)
    left = 10 if advice == "all games left" else 4000
    made.status(load=load(**given), workers=[worker(0, gpu=gpu)], games=4096 - left)
    verdict = RunView(tmp_path).standing.verdict
    assert verdict.words == words
    assert verdict.code == words.lower()
    assert advice in verdict.advice
    assert verdict.slowest == ("movers" if given.get("mover_busy") == 0.99 else "network")


def test_workers_that_have_not_begun_are_not_called_starved(tmp_path: Path) -> None:
    made = MadeRun(tmp_path)
    idle = {"plies_per_s": 0.0, "evals_per_s": 0.0, "device_busy": 0.0, "verdict": "starved"}
    made.status(load=load(**idle))
    assert RunView(tmp_path).standing.verdict.words == ""


def test_progress_is_of_the_stage(tmp_path: Path) -> None:
    made = training_run(tmp_path, 1, 1)
    view = RunView(tmp_path)
    assert view.standing.progress == pytest.approx(0.4)
    assert view.standing.verdict.slowest == "learning"
    last = view.series.last("eval") or {}
    assert last == last | match("greedy", 0.5)
    made.status(games=96, target=192)
    view.refresh()
    assert view.standing.progress == pytest.approx(0.5)


def test_charts_leave_out_the_time_between_generations(tmp_path: Path) -> None:
    made = MadeRun(tmp_path, "train")
    for generation in range(2):
        for _ in range(4):
            made.measure("load", generation, **load(gpu_util=[0.5, 0.7]))
        made._clock += 600
    found = {chart.key: chart for chart in charts(RunView(tmp_path))}
    minutes = [x for x, _ in found["speed"].curves[0].points]
    assert [round(60 * x) for x in minutes] == [0, 5, 10, 15, 30, 35, 40, 45]
    assert found["gpu"].curves[0].points[0][1] == pytest.approx(0.6)
    assert set(found) == {"speed", "batches", "steps", "gpu"}
