"""The networks that played recorded games, found among those a run has kept."""

import numpy as np
from numpy.typing import NDArray

from vecchess.config import BUILT_IN_NETS, DEFAULT_NET, read_toml
from vecchess.errors import DataError, NetworkError
from vecchess.inference.source import Source, find
from vecchess.replay.find_games import folders_of
from vecchess.store.records import GameRecords
from vecchess.store.run_folder import RunFolder

SHA256_DIGITS = 64


def by_network(records: GameRecords) -> dict[str, NDArray[np.int64]]:
    """The games that each network played, or played in: indices, int64[K], by sha256 or the name of
    a built-in one.

    Raises DataError for a game without a network.
    """
    counts = np.diff(records.span_offsets)
    if (counts < 1).any():
        raise DataError(f"game {records.numbers[np.argmin(counts)]} has no network")
    games = np.repeat(np.arange(records.num_games), counts)
    return {
        net: np.unique(games[records.span_net == index])
        for index, net in enumerate(records.nets)
        if (records.span_net == index).any()
    }


def find_networks(run: RunFolder, wanted: dict[str, NDArray[np.int64]]) -> dict[str, str]:
    """The network file, the built-in name, or the module with its weights, for each of the networks
    that ``by_network`` gave.

    Raises NetworkError where the run has not kept one of them, or where it is no network.
    """
    files_of = {net: net for net in wanted if net in BUILT_IN_NETS}
    missing = [net for net in wanted if net not in files_of]
    for net in missing:
        if len(net) != SHA256_DIGITS:
            raise NetworkError(f"{net} played games of {run.path}: that is not a network of ours")
    began = _source_of(run)
    kept = [file for part in folders_of(run) for file in sorted(part.nets.glob("*.safetensors"))]
    for net in missing:
        # those named by the hash first, so that most need not be read
        files = sorted(kept, key=lambda file: not net.startswith(file.stem))
        file = next((file for file in files if _sha256(began.with_weights_of(file)) == net), None)
        if file is None:
            raise NetworkError(
                f"{run.nets} has no network {net[:16]}, which played {len(wanted[net]):,} of the "
                "games to play again: put its file back"
            )
        files_of[net] = began.with_weights_of(file).text
    return files_of


def _source_of(run: RunFolder) -> Source:
    """What the run's settings name."""
    net = read_toml(run.config).get("net") if run.config.is_file() else None
    return find(net if isinstance(net, str) else DEFAULT_NET)


def _sha256(source: Source) -> str:
    """The hash of a network file, or of a module with its weights; "" for one that is damaged."""
    try:
        return source.load().sha256
    except NetworkError:
        return ""
