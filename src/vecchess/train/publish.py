"""Publishes networks: named, hashed, in the run's folder, with a mark on the newest.

``<run>-s<samples>-d<positions>.safetensors``: the samples learnt and the positions played so far,
as KataGo names its networks.
"""

from dataclasses import dataclass
from pathlib import Path

from vecchess.errors import DataError, NetworkError
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.integer.net_file import load_net, save_net
from vecchess.store.run_folder import LATEST, RunFolder


@dataclass(frozen=True)
class PublishedNet:
    """A network in a run's folder."""

    name: str
    file: Path
    sha256: str


def publish(net: IntegerNet, run: RunFolder, samples: int, positions: int) -> PublishedNet:
    """Write ``net``, durably, then make it the latest. Repeating it changes nothing.

    Raises DataError where the disk refuses; the latest network is unchanged then.
    """
    name = f"{run.path.resolve().name}-s{samples}-d{positions}"
    file = run.nets / f"{name}.safetensors"
    if not _is_same(file, net):
        try:
            save_net(net, file)
        except NetworkError as error:  # the name is not a user's, so the disk is at fault
            raise DataError(f"{error}; make room, then --resume") from None
    run.write_json(LATEST, {"schema": 1, "file": file.name, "sha256": net.sha256, "name": name})
    return PublishedNet(name, file, net.sha256)


def _is_same(file: Path, net: IntegerNet) -> bool:
    """Whether ``file`` is a whole network file of ``net``."""
    try:
        return load_net(file).sha256 == net.sha256
    except NetworkError:
        return False


def latest_net(run: RunFolder) -> PublishedNet:
    """The newest network of ``run``. Raises DataError where the run names none, FileUnreadable
    where that cannot be read."""
    facts = run.read_json(LATEST)
    try:
        file = run.nets / Path(facts["file"]).name
        return PublishedNet(file.stem, file, str(facts["sha256"]))
    except (KeyError, TypeError) as error:
        raise DataError(f"{run.path / LATEST} does not name a network: {error}") from None
