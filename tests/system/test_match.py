"""``vecchess match`` as users meet it."""

import io
import signal
import time
from pathlib import Path

import chess.pgn
import pytest

from tests.system.commands import inside, last_json, start


def test_a_match_and_its_games(tmp_path: Path) -> None:
    file = tmp_path / "games.pgn"
    file.write_text("% kept\n\n")
    command = ["match", "net:material?search=gumbel&sims=8", "random", "--games", 4]
    done = inside(*command, "--pgn", file, "--json", "--seed", 5)
    facts = last_json(done)
    assert facts["players"] == ["net:material?search=gumbel&sims=8", "random"]
    assert facts["wins"] + facts["draws"] + facts["losses"] == facts["games"] == 4
    assert set(facts) >= {"elo", "elo_low", "elo_high", "los", "ptnml", "distinct_games"}
    text = file.read_text()
    assert text.startswith("% kept\n\n")
    games = []
    handle = io.StringIO(text)
    while (game := chess.pgn.read_game(handle)) is not None:
        assert not game.errors
        games.append(game)
    assert len(games) == 4
    assert {game.headers["White"] for game in games} == set(facts["players"])
    assert sum(game.headers["Result"] == "1/2-1/2" for game in games) == facts["draws"]
    first = next(game for game in games if game.headers["White"] != "random")
    value, visits = first.next().comment.split()
    assert 0 <= float(value) <= 1
    assert visits == "8"


def test_the_exit_code_is_the_answer() -> None:
    test = ["--sprt", "0,300", "--games", 400, "--quiet", "--json"]
    won = inside("match", "minimax:2", "random", *test)
    assert won.returncode == 0, won.stderr
    assert last_json(won)["stopped_by"] == "sprt"
    lost = inside("match", "random", "minimax:2", *test)
    assert lost.returncode == 3
    assert '"state": "rejected"' in lost.stdout
    least = inside("match", "random", "random", "--games", 4, "--least", 2000, "--quiet")
    assert least.returncode == 3


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["gready", "random"], "there is no player 'gready'"),
        (["random", "uci:nothing-here?nodes=1"], 'there is no engine "nothing-here"'),
        (["random", "net:none.safetensors"], "no network file none.safetensors"),
        (["random", "random", "--games", 3], "cannot be played in pairs"),
        (["random", "random", "--sprt", "5,0"], "ELO0 below ELO1"),
        (["random", "random", "--openings", "none.epd"], "cannot read none.epd"),
        (
            ["random", "random", "--pgn", "none/games.pgn"],
            "there is no folder none to write games.pgn to",
        ),
        (["random", "random", "--chess960", "--openings", "x.epd"], "drop one"),
        (["random", "random", "--least=-1e9"], "--least"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input_is_one_line(options: list[object], reason: str) -> None:
    done = inside("match", *options)
    assert done.returncode == 2, done.stderr
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_ctrl_c_counts_what_was_played(tmp_path: Path) -> None:
    games = tmp_path / "games.pgn"
    running = start("match", "random", "random", "--games", 100_000, "--pgn", games, "--json")
    while not games.exists() or games.read_text().count("[Event ") < 50:
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert '"stopped_by": "user"' in out
    assert "Traceback" not in err


def test_a_signal_before_a_pair_is_complete_has_its_own_exit_code() -> None:
    running = start("match", "minimax:5", "random", "--games", 2, "--concurrency", 1, "--json")
    assert running.stderr is not None
    next(line for line in running.stderr if "at a time" in line)
    running.terminate()
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (75, "")
    assert err.splitlines()[-1] == "stopped by SIGTERM before a pair of games was finished"
