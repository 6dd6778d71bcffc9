"""Who is who: a network by its weights, an engine by what it calls itself."""

import re
import shutil
from pathlib import Path

import pytest

from tests.evaluate.players import small_net
from tests.importers.alphabetical import write_engine
from tests.lc0.made import weight_file
from vecchess.errors import ConfigError, NetworkError, VecchessError
from vecchess.evaluate.participant import (
    HASH_DIGITS,
    Participant,
    distinct_participants,
    identify,
    network_spelling,
)
from vecchess.snn.integer.net_file import HUB_CONFIG, HUB_WEIGHTS, load_net, save_net


@pytest.mark.parametrize(
    ("given", "spelling"),
    [
        (("a.safetensors",), "net:a.safetensors"),
        (("a.safetensors", "none"), "net:a.safetensors"),
        (("tiny", "puct", 800), "net:tiny?search=puct&sims=800"),
        (("material", "gumbel"), "net:material?search=gumbel"),
        (("net:a?T=2",), "net:a?T=2"),
        (("minimax:3",), "minimax:3"),
        (("random",), "random"),
    ],
)
def test_a_network_is_spelled_by_its_file_and_search(given: tuple[str, ...], spelling: str) -> None:
    assert network_spelling(*given) == spelling  # type: ignore[arg-type]


def test_a_colon_is_a_players_where_no_such_file_is() -> None:
    assert network_spelling("10:30/a.safetensors") == "10:30/a.safetensors"


@pytest.mark.parametrize("folder", ["10:30", "10:30?"])
def test_a_file_may_lie_in_a_folder_with_a_colon_or_question_mark(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path(folder) / "a.safetensors"
    file.parent.mkdir()
    save_net(small_net(1), file)
    head = f"net:{file}".replace("?", "%3F")
    assert network_spelling(str(file)) == head
    spelling = network_spelling(str(file), "puct", 8)
    assert spelling == f"{head}?search=puct&sims=8"
    save_net(small_net(1), Path("a.safetensors"))
    same = identify("net:a.safetensors?search=puct&sims=8", 0)
    assert identify(spelling, 0).identity == same.identity
    save_net(small_net(1), Path(folder) / HUB_WEIGHTS)
    (Path(folder) / HUB_CONFIG).write_text("{}")
    hub = network_spelling(folder, "puct", 8)
    assert hub == f"net:{folder}?search=puct&sims=8".replace("?", "%3F", folder.count("?"))
    assert identify(hub, 0).identity == same.identity


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (("tiny", None, 8), "--sims needs a search"),
        (("greedy", "puct"), "says how it plays"),
        (("",), 'NET is ""'),
        (("net:tiny?T=2", None, 8), "says how it plays"),
    ],
)
def test_settings_that_belong_to_nothing(given: tuple[str, ...], part: str) -> None:
    with pytest.raises(ConfigError, match=part):
        network_spelling(*given)  # type: ignore[arg-type]


def test_a_network_is_known_by_its_weights(tmp_path: Path) -> None:
    one, copy, other = (tmp_path / f"{name}.safetensors" for name in ("one", "copy", "other"))
    save_net(small_net(1), one)
    shutil.copy(one, copy)
    save_net(small_net(2), other)
    found = [identify(f"net:{file}", seed=0) for file in (one, copy, other)]
    assert [who.name for who in found] == ["one policy", "copy policy", "other policy"]
    assert found[0].identity == found[1].identity != found[2].identity
    assert distinct_participants(found) == [found[0], found[2]]
    searched = identify(f"net:{one}?search=gumbel&sims=2", seed=0)
    assert searched.name == "one gumbel 2"
    assert searched.identity == f"{found[0].identity}?search=gumbel&sims=2"


def test_names_that_are_shared_are_told_apart() -> None:
    nets = [
        Participant("latest policy", "net:x", f"net:{sha}", True) for sha in ("abcdef99", "1234")
    ]
    assert [who.name for who in distinct_participants(nets)] == [
        "latest policy #abcdef",
        "latest policy #1234",
    ]
    engines = [
        Participant("E nodes=1", "", f"uci:E?{more}nodes=1", True) for more in ("", "hash=1&")
    ]
    assert [who.name for who in distinct_participants(engines)] == [
        "uci:E?nodes=1",
        "uci:E?hash=1&nodes=1",
    ]


@pytest.mark.stockfish
def test_an_engine_is_known_by_its_own_name() -> None:
    who = identify("uci:stockfish?nodes=1&hash=1", seed=0)
    assert who.name.startswith("Stockfish ")
    assert who.name.endswith(" nodes=1")
    engine = who.name.removesuffix(" nodes=1")
    assert re.fullmatch(f"uci:{engine} #[0-9a-f]{{16}}\\?hash=1&nodes=1", who.identity)
    assert who.is_repeatable
    for by_chance in ("elo=1500&nodes=1", "nodes=1&threads=2", "nodes=1&Skill Level=3"):
        assert not identify(f"uci:stockfish?{by_chance}&hash=1", seed=0).is_repeatable


def test_engines_of_one_name_are_told_apart_by_their_commands(tmp_path: Path) -> None:
    program = write_engine(tmp_path)
    ways = [f"uci:{program} --net {net}?nodes=1" for net in ("material", "constant", "material")]
    one, other, again = (identify(way, seed=0) for way in ways)
    assert one.name == other.name
    assert one.identity != other.identity
    assert one == again


def test_files_that_settings_name_are_known_by_their_content(tmp_path: Path) -> None:
    program, file = write_engine(tmp_path), tmp_path / "book"
    option = 'print("option name Book type string"); print("option name MultiPV'
    engine = tmp_path / "engine.py"
    engine.write_text(engine.read_text().replace('print("option name MultiPV', option))
    found = []
    for content in ("one", "other", "one"):
        file.write_text(content)
        found.append(identify(f"uci:{program}?nodes=1&Book={file}", seed=0))
    assert found[0].name == found[1].name
    assert found[0].identity != found[1].identity
    assert found[0] == found[2]


def test_spellings_of_one_network_player_have_one_identity() -> None:
    ways = ["", "&sims=64", "&sims=64&temperature=0&exits=on"]
    found = {identify(f"net:material?search=puct{way}", seed=0).identity for way in ways}
    assert len(found) == 1
    assert identify("net:material?search=puct&sims=65", seed=0).identity not in found


def test_the_network_of_vecchess_needs_no_name() -> None:
    unnamed, named, searched = (
        identify(text, seed=0) for text in ("net:", "net:default", "net:?search=gumbel&sims=2")
    )
    assert (unnamed.name, unnamed.identity) == (named.name, named.identity)
    assert unnamed.identity == f"net:{load_net('default').sha256[:HASH_DIGITS]}"
    assert searched.name == "default gumbel 2"


def test_a_network_of_lc0_is_known_by_its_content(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / f"{name}.pb.gz").write_bytes(weight_file(seed=seed))
    one, same, other = (identify(f"lc0:{tmp_path / name}.pb.gz", seed=0) for name in "abc")
    assert one.name == "a policy"
    assert one.is_repeatable
    assert one.identity == same.identity != other.identity
    assert one.identity.startswith("lc0:")
    searched = identify(f"lc0:{tmp_path / 'a'}.pb.gz?sims=8&search=puct", seed=0)
    assert (searched.name, searched.identity) == ("a puct 8", f"{one.identity}?search=puct&sims=8")


@pytest.mark.parametrize(
    "spelling",
    ["rnadom", "net:no-such-file", "lc0:no-such-file", "minimax:99", "uci:no-such-engine?nodes=1"],
)
def test_who_cannot_play_is_refused(spelling: str) -> None:
    with pytest.raises(VecchessError) as raised:
        identify(spelling, seed=0)
    assert isinstance(raised.value, ConfigError | NetworkError)
    assert raised.value.exit_code == 2
