"""Publishes networks: named, hashed, in the run's folder, with a mark on the newest.

``<run>-s<samples>-d<positions>.safetensors``: the samples learnt and the positions played so far,
as KataGo names its networks.
"""

from dataclasses import dataclass
from pathlib import Path

from vecchess.errors import DataError, NetworkError
from vecchess.inference.open_network import source_of
from vecchess.inference.playable_net import PlayableNet
from vecchess.selfplay.worker.networks import save_playable
from vecchess.store.run_folder import LATEST, RunFolder


@dataclass(frozen=True)
class PublishedNet:
    """A network in a run's folder."""

    name: str
    file: Path
    sha256: str


def publish(net: PlayableNet, run: RunFolder, samples: int, positions: int) -> PublishedNet:
    """Write ``net``, durably, then make it the latest. Repeating it changes nothing.

    Raises DataError where the disk refuses; the latest network is unchanged then.
    """
    name = f"{run.path.resolve().name}-s{samples}-d{positions}"
    file = run.nets / f"{name}.safetensors"
    if not _is_same(file, net):
        try:
            save_playable(net, file)
        except NetworkError as error:  # the name is not a user's, so the disk is at fault
            raise DataError(f"{error}; make room, then --resume") from None
    newest = PublishedNet(name, file, net.sha256)
    mark_latest(run, newest.name, newest.sha256)
    return newest


def forget_others(newest: PublishedNet) -> None:
    """Remove all networks but the newest from its folder."""
    for file in newest.file.parent.glob("*.safetensors"):
        if file.name != newest.file.name:
            file.unlink()


def mark_latest(run: RunFolder, name: str, sha256: str) -> None:
    """Note that the network of that name, and that hash, is the newest of ``run``."""
    facts = {"schema": 1, "file": f"{name}.safetensors", "sha256": sha256, "name": name}
    run.write_json(LATEST, facts)


def _is_same(file: Path, net: PlayableNet) -> bool:
    """Whether ``file`` is a whole network file of ``net``."""
    try:
        return source_of(net, file).load().sha256 == net.sha256
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
