"""The networks of a run: found by name, made if new, kept in its folder with a mark on the newest.

Decision 29 (a run keeps its networks). A training names those that it publishes as KataGo does,
``<run>-s<samples>-d<positions>.safetensors``: the samples learnt and the positions played so far.
"""

from dataclasses import dataclass
from pathlib import Path

from vecchess.config import SelfplayConfig, read_toml
from vecchess.errors import ConfigError, DataError, NetworkError
from vecchess.inference.open_network import require_input
from vecchess.inference.playable_net import BuiltInNet, Lc0Net, PlayableNet
from vecchess.inference.source import Source, find
from vecchess.runtime.atomic_write import remove_file
from vecchess.selfplay.games.game_log import MAX_STEPS
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.integer.net_file import save_net
from vecchess.store.run_folder import LATEST, RunFolder


@dataclass(frozen=True)
class PublishedNet:
    """A network in a run's folder."""

    name: str
    file: Path
    sha256: str


def selfplay_source(net: str) -> Source:
    """What ``net`` names; raises ConfigError for a network of lc0, which cannot play by itself."""
    source = find(net)
    if source.kind == "lc0":
        raise ConfigError(
            f"{net}: lc0's networks play matches (lc0:FILE), analyse and label; self-play needs a "
            "network of vecchess's own, or a module"
        )
    return source


def kept_source(run: RunFolder, file: Path) -> Source:
    """The network that ``run`` keeps in ``file``: that file, or the module that the run's settings
    name, with the file as its weights. Raises ConfigError where they cannot be read."""
    began_with = read_toml(run.config).get("net", "") if run.has_begun else ""
    return find(str(began_with)).with_weights_of(file)


def source_of(network: PlayableNet, file: Path) -> Source:
    """How to open ``network``, one of vecchess's own or a module, that is kept in ``file``."""
    if isinstance(network, IntegerNet):
        return Source(str(file), "file")
    assert not isinstance(network, Lc0Net | BuiltInNet)
    return Source(str(network.spec.with_weights(file.absolute())), "module")


def configured_network(config: SelfplayConfig) -> PlayableNet:
    """The network ``config`` asks for. Raises as ``Source.load``."""
    return selfplay_source(config.net).load(config.seed)


def require_playable(network: PlayableNet, name: str) -> None:
    """Raise NetworkError for a network whose input or time steps self-play cannot do with."""
    require_input(network, name)
    steps = network.config.time_steps
    if steps > MAX_STEPS:
        raise NetworkError(f"{name} takes {steps} steps; records hold {MAX_STEPS}")


def store_net(network: PlayableNet, run: RunFolder) -> Path:
    """Put ``network`` into the run's folder, named by its hash, and make it the latest.

    Of a module that is its weights.
    """
    file = run.nets / f"{network.sha256[:16]}.safetensors"
    if not file.exists():
        save_playable(network, file)
    run.write_json(LATEST, {"schema": 1, "file": file.name, "sha256": network.sha256})
    return file


def save_playable(network: PlayableNet, file: Path) -> None:
    """Write a network, or the weights of a module; raises NetworkError or DataError."""
    if isinstance(network, IntegerNet):
        save_net(network, file)
        return
    from vecchess.networks.module_net import ModuleNet, save_module_net

    assert isinstance(network, ModuleNet)
    save_module_net(network, file)


def stored_net(config: SelfplayConfig, run: RunFolder) -> PlayableNet:
    """The network the run was played with so far.

    Raises NetworkError where the run's own copy is missing or is not what was kept, DataError where
    the run does not name it, FileUnreadable where that cannot be read.
    """
    source = selfplay_source(config.net)
    if source.kind == "built-in":
        return source.load()
    kept = latest_net(run)
    network = source.with_weights_of(kept.file).load()
    if network.sha256 != kept.sha256:
        raise NetworkError(f"{run.nets} does not hold the network this run was played with")
    return network


def store_configured_net(network: PlayableNet, run: RunFolder) -> str:
    """What workers are told to load: the file kept in the run, a module with that file as its
    weights, or the name of a built-in network."""
    if isinstance(network, BuiltInNet):
        return network.name
    return source_of(network, store_net(network, run)).text


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
            remove_file(file)


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
