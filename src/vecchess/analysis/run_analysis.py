"""The analysis of one position.

Its result depends on the position with its history, the network, the settings and the number of
positions evaluated in parallel; not on the machine.
"""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import current_thread, main_thread
from time import monotonic
from types import FrameType
from typing import Any

from vecchess.analysis.analysis_result import Analysis
from vecchess.analysis.open_evaluator import PositionEvaluator, open_evaluator
from vecchess.analysis.parse_position import STARTPOS, position_after
from vecchess.analysis.search_progress import AnalysisObserver, OnProgress
from vecchess.chess.chess960 import start_positions
from vecchess.config import BUILT_IN_NETS, AnalyseConfig, TreeConfig
from vecchess.jit import cache_dir
from vecchess.runtime.reporting import ReportLine, no_report
from vecchess.search.batch_search import BatchSearch
from vecchess.search.kernels.evaluation_cache import EvaluationCache
from vecchess.search.tablebase import Tablebase
from vecchess.search.tree_memory import TreeLimits

SIMS_A_LANE, MOST_LANES = 100, 32
_MARK = "analyse-{}.compiled"


def analyse(
    config: AnalyseConfig,
    fen: str = STARTPOS,
    moves: Sequence[str] = (),
    report_line: ReportLine = no_report,
    on_progress: OnProgress | None = None,
) -> tuple[Analysis, dict[str, Any]]:
    """Search the position after ``moves`` (UCI) from ``fen``; returns the result, and facts about
    the evaluator.

    ``report_line`` takes lines for people, ``on_progress`` the result so far a few times a second.
    The first Ctrl-C ends the search, the second the program. Raises ConfigError for a position that
    cannot be searched, and for wrong settings, tablebases and too little memory; NetworkError for
    a network that cannot be used.
    """
    positions, keys, past = position_after(fen, moves)
    lanes = config.lanes or lanes_for(config.tree.sims)
    TreeLimits.of_analysis(config.tree, 1)  # before a network is made
    if config.tree.cache_mb:
        EvaluationCache(config.tree.cache_mb)
    tablebase = Tablebase(config.tree.syzygy) if config.tree.syzygy else None
    evaluator = open_evaluator(config, lanes, report_line)
    _compile(evaluator, config, report_line)
    tree = TreeConfig(**config.tree.model_dump())
    search = BatchSearch(
        tree, evaluator.backend, 1, config.seed, lanes, tablebase, evaluator.history
    )
    observer = AnalysisObserver(config, search, positions, on_progress)
    with _interrupts_end(observer):
        search.run(
            positions,
            keys,
            past,
            config.seed,
            watch=observer.watch,
            finished=observer.finished,
        )
    assert observer.found is not None  # by ``finished``
    return observer.found, evaluator.facts


def lanes_for(sims: int) -> int:
    """Positions evaluated in parallel by default: few, where each simulation decides much."""
    return min(MOST_LANES, max(1, sims // SIMS_A_LANE))


def _compile(evaluator: PositionEvaluator, config: AnalyseConfig, report_line: ReportLine) -> None:
    """Search once from the start position, so that compilation does not count as search time."""
    kind = config.net if config.net in BUILT_IN_NETS else config.backend
    mark = cache_dir("search") / _MARK.format(kind)
    start = monotonic()
    if not mark.exists():
        report_line("compiling the search and its network (once per version) ...")
    tree = TreeConfig(search="puct", sims=2, cache_mb=1)
    BatchSearch(tree, evaluator.backend, 1, history=evaluator.history).run(start_positions(1))
    if not mark.exists():
        report_line(f"compiled in {monotonic() - start:.1f} s, kept in {cache_dir('search')}")
        mark.touch()


@contextmanager
def _interrupts_end(observer: AnalysisObserver) -> Iterator[None]:
    """Within the block the first Ctrl-C ends the search, the second has its usual effect. Without
    effect in other threads, which get no signals."""
    if current_thread() is not main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        observer.ended_by = "SIGINT"
        signal.signal(signal.SIGINT, previous)

    previous = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
