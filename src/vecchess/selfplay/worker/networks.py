"""The network of a run: found by name, made if it is new, stored in the run's folder.

Decision 29.
"""

from pathlib import Path

from vecchess.config import BUILT_IN_NETS, DEFAULT_NET, SelfplayConfig
from vecchess.errors import ConfigError, NetworkError
from vecchess.inference.playable_net import PlayableNet
from vecchess.networks.module_spelling import ModuleSpelling, is_module
from vecchess.snn.create import create_network, is_recipe, sizes_of
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.integer.net_file import load_net, missing_net, net_path, save_net
from vecchess.snn.presets import PRESETS
from vecchess.store.run_folder import LATEST, RunFolder


def load_or_create(net: str, seed: int) -> PlayableNet:
    """The network in file ``net``, or that of vecchess for ``DEFAULT_NET``; a new one, weights
    from the seed, for a preset or a TOML file; a module that a user brings, weights from its file
    or the seed.

    Raises NetworkError where there is none of these, ConfigError for sizes that will not do.
    """
    if is_module(net):
        from vecchess.networks.module_net import create_module_net

        return create_module_net(net, seed)
    if is_new(net):
        return create_network(net, seed)
    if not net_path(net).is_file():
        raise missing_net(net_path(net), (DEFAULT_NET, *PRESETS))
    return load_net(net)


def check_net(net: str) -> None:
    """Raise what ``load_or_create`` would, without making a new network, which takes seconds."""
    if is_new(net) and not is_module(net):
        sizes_of(net)
    elif net not in BUILT_IN_NETS:
        load_or_create(net, seed=0)


def is_new(net: str) -> bool:
    """True where the network has yet to be made; a file named like a preset is a file."""
    if is_module(net):
        return ModuleSpelling.parse(net).weights is None
    return is_recipe(net) and not (net in PRESETS and Path(net).is_file())


def open_stored(net: str) -> PlayableNet | None:
    """What a worker is told to play with: a network file, or a module with its weights; None for
    the name of a built-in one. Raises NetworkError or ConfigError."""
    if net in BUILT_IN_NETS:
        return None
    return load_or_create(net, seed=0) if is_module(net) else load_net(Path(net))


def require_integers(network: PlayableNet, what: str) -> IntegerNet:
    """``network``, where it is one of vecchess's own; raises ConfigError for a module that a user
    brings: ``what`` cannot be done with it."""
    if not isinstance(network, IntegerNet):
        raise ConfigError(f"{network.spelling}: {what} needs a network of vecchess's own")
    return network


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
    else:
        from vecchess.networks.module_net import save_module_net

        save_module_net(network, file)


def spelling_of(network: PlayableNet, file: Path) -> str:
    """How workers are told to open ``network``, which is kept in ``file``."""
    if isinstance(network, IntegerNet):
        return str(file)
    return str(network.spelling.with_weights(file.absolute()))


def with_weights_of(net: str, file: Path) -> str:
    """How a network is opened that a run began as ``net`` and has kept in ``file``: as that file,
    or, of a module, with the file as its weights."""
    if not is_module(net):
        return str(file)
    return str(ModuleSpelling.parse(net).with_weights(file.absolute()))


def stored_net(config: SelfplayConfig, run: RunFolder) -> PlayableNet | None:
    """The network the run was played with so far, None for one that is built in.

    Raises NetworkError where the run's own copy is missing or is not what was kept, DataError where
    the run does not name it, FileUnreadable where that cannot be read.
    """
    if config.net in BUILT_IN_NETS:
        return None
    facts = run.read_json(LATEST)
    network = open_stored(with_weights_of(config.net, run.nets / Path(str(facts.get("file"))).name))
    if network is None or network.sha256 != facts.get("sha256"):
        raise NetworkError(f"{run.nets} does not hold the network this run was played with")
    return network


def store_configured_net(
    config: SelfplayConfig, network: PlayableNet | None, run: RunFolder
) -> str:
    """What workers are told to load: the file kept in the run, or the name of a built-in one."""
    return config.net if network is None else spelling_of(network, store_net(network, run))


def configured_network(config: SelfplayConfig) -> PlayableNet | None:
    """The network ``config`` asks for, None for one that is built in."""
    return None if config.net in BUILT_IN_NETS else load_or_create(config.net, config.seed)
