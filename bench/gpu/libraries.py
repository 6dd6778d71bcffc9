"""Our engines in turns, and other libraries beside them; see ``bench/peers``."""

from typing import Any

from bench.gpu.report_lines import ResultWriter
from bench.gpu.setting import Setting

from vecchess.config.bench_settings import InferenceBench


def inference(setting: Setting, results: ResultWriter) -> None:
    """``vecchess bench inference``."""
    from vecchess.bench.inference import run

    results.add("in turns", **run(_config(setting)))


def peers(setting: Setting, results: ResultWriter) -> None:
    """``python -m bench.peers inference``: torch.compile takes minutes for a loop over layers."""
    from bench.peers.race import run

    results.add("in turns", **run(_config(setting)))


def _config(setting: Setting) -> InferenceBench:
    sizes: dict[str, Any] = {"slots": setting.num_slots, "positions": 2 * setting.num_slots}
    if setting.quick:
        sizes |= {"backend": "cpu", "seconds": 1.0, "twin": False}
    else:
        sizes |= {"seconds": 30.0}
    return InferenceBench(net=str(setting.net_file("base")), gpus=setting.gpus, **sizes)
