"""What each node of a fleet is told to run: the arguments of ``vecchess`` there."""

from pathlib import Path


def selfplay_orders(
    given: list[str], run_dir: Path, own: list[str], seed: int, is_told: bool, num_nodes: int
) -> list[list[str]]:
    """Independent runs in ``run_dir``/0, /1, ..., which all nodes see, with ``seed``, + 1, ...

    ``given`` are the user's arguments, ``own`` those added to them. A run that is there goes on;
    unless something else ``is_told``, with what its own settings say instead of ``own`` and seed.
    """
    orders = []
    for node in range(num_nodes):
        order = ["selfplay", *given, "--run-dir", str(run_dir / str(node))]
        holds_run = (run_dir / str(node) / "config.toml").is_file()
        if not holds_run or is_told:
            order += [*own, "--seed", str(seed + node)]
        orders.append(order + ["--resume"] * holds_run)
    return orders


def training_orders(
    given: list[str], own: list[str], num_nodes: int, address: str, port: int
) -> list[list[str]]:
    """One training on all nodes, whose ranks meet at ``address``, node 0's, and ``port``."""
    meeting = ["--nnodes", str(num_nodes), "--master-addr", address, "--master-port", str(port)]
    common = ["train", *given, *own, *meeting]
    return [[*common, "--node-rank", str(node)] for node in range(num_nodes)]
