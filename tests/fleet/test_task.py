"""Tasks, as they lie in a store that others write to."""

import pytest
from pydantic import ValidationError

from vecchess.errors import DataError
from vecchess.fleet.task import FleetTask


def task(net: str, net_sha256: str = "0" * 64) -> FleetTask:
    return FleetTask(number=3, generation=1, first=0, end=4, size=2, net=net, net_sha256=net_sha256)


@pytest.mark.parametrize("folder", ["run", "my run", "läufe", "a+b", ".hidden", "..a", "-"])
def test_networks_have_the_names_of_any_folder(folder: str) -> None:
    given = task(f"{folder}-s100-d20.safetensors")
    assert FleetTask.of_bytes("fleet/tasks/000003.json", given.to_bytes()) == given


@pytest.mark.parametrize("net", ["", ".", "..", "a/b", "../b", "/a", "a\\b", "a\0", "a" * 251])
def test_a_network_lies_in_its_folder(net: str) -> None:
    with pytest.raises(ValidationError, match="net"):
        task(net)


@pytest.mark.parametrize("net_sha256", ["../../a", "0" * 63, "0" * 64 + "\n"])
def test_a_hash_is_one(net_sha256: str) -> None:
    data = task("a").to_bytes().replace(b"0" * 64, net_sha256.encode().replace(b"\n", b"\\n"))
    with pytest.raises(DataError, match="net_sha256"):
        FleetTask.of_bytes("fleet/tasks/000003.json", data)
