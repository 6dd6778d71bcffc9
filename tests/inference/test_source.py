"""What a text names, and the network of it."""

from pathlib import Path

import pytest

from tests.lc0.made import weight_file
from vecchess.errors import ConfigError, NetworkError
from vecchess.inference.open_network import open_network
from vecchess.inference.playable_net import BuiltInNet, Lc0Net
from vecchess.inference.source import Source, find
from vecchess.selfplay.worker.networks import selfplay_source, source_of
from vecchess.selfplay.worker.random_requests import random_requests
from vecchess.snn.integer.net_file import HUB_CONFIG, HUB_WEIGHTS
from vecchess.spec import Spec

MODULE = "module:tests.networks.modules:leaking"


@pytest.mark.parametrize(
    ("text", "kind", "is_new"),
    [
        ("default", "file", False),
        ("runs/a/nets/0123.safetensors", "file", False),
        ("./tiny", "file", False),
        ("tiny", "preset", True),
        ("my.toml", "sizes", True),
        ("module:a:make?x=1", "module", True),
        ("module:a:make?weights=b", "module", False),
        ("lc0:maia", "lc0", False),
        ("maia-1100.pb.gz", "lc0", False),
        ("material", "built-in", False),
        ("module.safetensors", "file", False),
    ],
)
def test_a_text_says_what_it_names(text: str, kind: str, is_new: bool) -> None:
    source = find(text)
    assert (source.kind, source.is_new) == (kind, is_new)


def test_a_file_named_like_a_preset_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find("tiny").kind == "preset"
    Path("tiny").write_bytes(b"")
    assert find("tiny").kind == "file"


def test_the_folder_of_a_network_goes_before_a_preset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiny").mkdir()
    assert find("tiny").kind == "preset"
    for name in (HUB_CONFIG, HUB_WEIGHTS):
        (Path("tiny") / name).write_bytes(b"")
    assert (find("tiny").kind, find("tiny").file) == ("file", Path("tiny") / HUB_WEIGHTS)


def test_a_missing_network_is_named_with_those_there_are(tmp_path: Path) -> None:
    for source in (find("tinny"), find(str(tmp_path / "none"))):
        for ask in (source.check_name, source.check, source.load):
            with pytest.raises(NetworkError, match="there is no network file"):
                ask()
    with pytest.raises(NetworkError, match=r"nor a network of that name \(default, constant, mat"):
        find("tinny").load()
    with pytest.raises(ConfigError, match="write module:package"):
        find("module:").check_name()
    with pytest.raises(NetworkError, match="is not there"):
        find("lc0:none").load()


def test_networks_that_are_kept_are_found_again(tmp_path: Path) -> None:
    file = tmp_path / "kept.safetensors"
    assert find("tiny").with_weights_of(file) == Source(str(file), "file")
    module = find(f"{MODULE}?least=3").with_weights_of(file)
    assert module.text == f"{MODULE}?least=3&weights={file}"
    assert source_of(find(f"{MODULE}?least=3").load(), file) == module
    assert module.spec.settings == {"least": "3", "weights": str(file)}
    assert find("wh?t/a.safetensors").spec == Spec("wh?t/a.safetensors")


def test_short_names_are_for_people() -> None:
    texts = ("default", "a/b/small.safetensors", "lc0:c/maia-1100.pb.gz", "module:a.b:make?x=1")
    names = [find(text).short_name for text in texts]
    assert names == ["default", "small", "maia-1100", "b:make"]


@pytest.mark.parametrize("text", ["tiny", "constant", MODULE, "lc0"])
def test_all_are_opened_alike(text: str, tmp_path: Path) -> None:
    if text == "lc0":
        text = str(tmp_path / "net.pb.gz")
        Path(text).write_bytes(weight_file())
    net = open_network(text, 4, seed=1)
    requests = random_requests(6, 2, net.num_planes)
    policy, outcomes = net.answer(requests)
    assert policy.sum(axis=1) == pytest.approx(1)
    assert outcomes.sum(axis=1) == pytest.approx(1)
    is_built_in = isinstance(net.net, BuiltInNet)
    assert net.facts == {"net": text, "sha256": None if is_built_in else net.net.sha256}
    if isinstance(net.net, Lc0Net):
        with pytest.raises(ConfigError, match="self-play needs a network"):
            selfplay_source(text)


def test_time_steps_are_those_of_our_own_networks() -> None:
    assert open_network("tiny", 1, time_steps=2).backend.time_steps == 2
    with pytest.raises(ConfigError, match="T=2 needs a network of vecchess's own"):
        open_network("constant", 1, time_steps=2)
