"""A network as a folder in the layout of ``huggingface_hub``: card, description and weights.

    README.md           the model card; YAML front matter first
    config.json         the network's description, as in its file
    model.safetensors   the network file itself

A folder that was downloaded is such a folder, and ``--net FOLDER`` reads it (``net_file``).

Decision 263.
"""

import json
from pathlib import Path
from typing import Any

from vecchess import __version__
from vecchess.chess.planes import reads_moves
from vecchess.errors import ConfigError
from vecchess.runtime.atomic_output import whole_folder
from vecchess.snn.integer.bounds import net_facts
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.integer.net_file import HUB_CONFIG, HUB_WEIGHTS, save_net
from vecchess.snn.topology import stem_planes

CARD = "README.md"
TAGS = ("chess", "spiking-neural-network", "neuromorphic", "reinforcement-learning")


def export_hub(net: IntegerNet, out: Path, name: str, licence: str | None = None) -> int:
    """Write ``net`` as the folder ``out``; returns the bytes of its weights' file.

    name: of the model. licence: an identifier of the hub, as "gpl-3.0"; none is written without.
    Raises ConfigError where ``out`` is not empty or a name does not fit a line, DataError where
    writing fails.
    """
    for text in (name, licence or ""):
        if not text.isprintable() or len(text) > 100:
            raise ConfigError(f"{text[:40]!r}: a name is up to 100 printable characters")
    facts = net_facts(net)
    with whole_folder(out) as folder:
        save_net(net, folder / HUB_WEIGHTS)
        config = {"library_name": "vecchess", "vecchess_version": __version__, **facts}
        (folder / HUB_CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        (folder / CARD).write_text(model_card(net, facts, name, licence), encoding="utf-8")
        return (folder / HUB_WEIGHTS).stat().st_size


def model_card(net: IntegerNet, facts: dict[str, Any], name: str, licence: str | None) -> str:
    """The text of README.md. JSON is YAML, so the values of its front matter are JSON."""
    entries: dict[str, Any] = {} if licence is None else {"license": licence}
    entries |= {"library_name": "vecchess", "tags": list(TAGS)}
    front = [f"{key}: {json.dumps(value)}" for key, value in entries.items()]
    lines = ["---", *front, "---", "", f"# {name}", "", *_sentences(net), "", "| | |", "|---|---|"]
    rows = {
        "sha256 of the network": facts["sha256"],
        "weights and biases": f"{facts['weights']:,}",
        "time steps": str(net.config.time_steps),
        "early exits": "none" if net.exit_rule is None else f"`{json.dumps(net.exit_rule)}`",
        "every sum exact": "yes" if facts["exact"] else "no",
    }
    lines += [f"| {what} | {value} |" for what, value in rows.items()]
    use = ["", "```", "vecchess net info FOLDER", "vecchess uci --net FOLDER", "```"]
    return "\n".join([*lines, "", "FOLDER is the folder of this file:", *use]) + "\n"


def _sentences(net: IntegerNet) -> list[str]:
    config = net.config
    neurons = "spiking neurons" if config.neuron == "lif" else "clipped ReLUs"
    tower = (
        f"{config.blocks} residual blocks of {config.channels} channels"
        if config.kind == "residual"
        else f"convolutions of {', '.join(map(str, config.widths))} channels"
    )
    moves = " and inputs of each move" * reads_moves(config.num_planes)
    return [
        f"A chess network of {neurons} for vecchess {__version__}: {tower}, weights of 8 bits.",
        f"It reads {stem_planes(config)} binary planes of a position{moves} and gives a policy",
        "over 4,672 moves, and win, draw and loss.",
    ]
