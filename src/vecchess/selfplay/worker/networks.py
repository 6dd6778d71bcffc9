"""The network of a run: found by name, made if it is new, stored in the run's folder.

Decision 29.
"""

from pathlib import Path

from vecchess.config import BUILT_IN_NETS, DEFAULT_NET, SelfplayConfig
from vecchess.errors import NetworkError
from vecchess.snn.create import create_network, is_recipe, sizes_of
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.integer.net_file import load_net, missing_net, net_path, save_net
from vecchess.snn.presets import PRESETS
from vecchess.store.run_folder import LATEST, RunFolder


def load_or_create(net: str, seed: int) -> IntegerNet:
    """The network in file ``net``, or that of vecchess for ``DEFAULT_NET``; a new one, weights
    from the seed, for a preset or a TOML file.

    Raises NetworkError where there is none of these, ConfigError for sizes that will not do.
    """
    if is_new(net):
        return create_network(net, seed)
    if not net_path(net).is_file():
        raise missing_net(net_path(net), (DEFAULT_NET, *PRESETS))
    return load_net(net)


def check_net(net: str) -> None:
    """Raise what ``load_or_create`` would, without making a new network, which takes seconds."""
    if is_new(net):
        sizes_of(net)
    elif net not in BUILT_IN_NETS:
        load_or_create(net, seed=0)


def is_new(net: str) -> bool:
    """True where the network has yet to be made; a file named like a preset is a file."""
    return is_recipe(net) and not (net in PRESETS and Path(net).is_file())


def store_net(network: IntegerNet, run: RunFolder) -> Path:
    """Put ``network`` into the run's folder, named by its hash, and make it the latest."""
    file = run.nets / f"{network.sha256[:16]}.safetensors"
    if not file.exists():
        save_net(network, file)
    run.write_json(LATEST, {"schema": 1, "file": file.name, "sha256": network.sha256})
    return file


def stored_net(config: SelfplayConfig, run: RunFolder) -> IntegerNet | None:
    """The network the run was played with so far, None for one that is built in.

    Raises NetworkError where the run's own copy is missing or is not what was kept, DataError where
    the run does not name it, FileUnreadable where that cannot be read.
    """
    if config.net in BUILT_IN_NETS:
        return None
    facts = run.read_json(LATEST)
    network = load_net(run.nets / Path(str(facts.get("file"))).name)
    if network.sha256 != facts.get("sha256"):
        raise NetworkError(f"{run.nets} does not hold the network this run was played with")
    return network


def store_configured_net(config: SelfplayConfig, network: IntegerNet | None, run: RunFolder) -> str:
    """What workers are told to load: the file kept in the run, or the name of a built-in one."""
    return config.net if network is None else str(store_net(network, run))


def configured_network(config: SelfplayConfig) -> IntegerNet | None:
    """The network ``config`` asks for, None for one that is built in."""
    return None if config.net in BUILT_IN_NETS else load_or_create(config.net, config.seed)
