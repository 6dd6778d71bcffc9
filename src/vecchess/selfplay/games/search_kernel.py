"""The mover's kernel with search: from decisions to the next searches.

One call takes rows whose searches are over. Each gives a move, which is logged and made, and the
next search begins in what is left of the tree. A game that ended is copied to ``finished``, and the
next game starts in its row. So is one that has to wait for the next generation of a training, whose
tree is dropped. Games do not depend on each other.
"""

from typing import Any

import numpy as np

from vecchess.jit import inline, kernel, paste
from vecchess.rng import random_u64
from vecchess.search.kernels.decide import decide_search
from vecchess.search.kernels.evaluate_leaf import (
    UNKNOWN_OUTCOME,
    is_in_tablebase,
    probe_game_position,
)
from vecchess.search.kernels.tree_reuse import begin_search, follow_edge
from vecchess.search.tree.layout import LANE_ANSWERED, LANE_FREE, NO_NODE, ForestRecord
from vecchess.search.tree.node_pool import free_tree
from vecchess.selfplay.games.fingerprint import fingerprint_tag, fold_root
from vecchess.selfplay.games.game_kernel import (
    CONSUMED,
    GAMES_DONE,
    ONGOING,
    PLAYED,
    READY,
    SUPPLIED,
    TABLEBASE,
    WORDS_DONE,
    board_of,
    finished_is_full,
    outcome_for_mover,
    play_move,
    record_end,
    resign_or_adjudicate,
    save_restart_point,
    start_next_game,
    write_request,
)
from vecchess.selfplay.games.game_log import (
    MOST_PAGES,
    MOST_WORDS,
    PAGE_PLIES,
    append_word,
    pack_ply,
    take_items,
)
from vecchess.selfplay.games.game_table import VACANT
from vecchess.store.records import VALUE_UNIT

FULL_DRAW = 1 << 41
"""Counter of the random number that makes the search of ply 0 full or fast."""
RESTART_PLIES = 16
"""A game's tree is discarded every so many plies: from there a saved game resumes bit for bit."""


@kernel
def play_decisions(  # type: ignore[no-untyped-def]
    tables, games, requests, rules, logs, finished, supply, moves, forest, rows, ready, cursor
):
    """Play the decisions in ``rows``, and put rows with a search to continue into ``ready``.

    A vacant row starts a game. Stops early when there is no room in ``finished`` or the logs, or
    ``supply`` is used up; ``cursor`` tells how far it got.
    """
    forest = ForestRecord(forest)
    while cursor[CONSUMED] < len(rows):
        row = rows[cursor[CONSUMED]]
        game = np.int64(row)
        if _lacks_room(games, rules, logs, finished, supply, game, cursor):
            return
        cursor[CONSUMED] += 1
        if _play_row(
            tables, games, requests, rules, logs, finished, supply, moves, forest, game, cursor
        ):
            ready[cursor[READY]] = row
            cursor[READY] += 1


@kernel
def resume_searches(games, rules, targets, forest, words, offsets, resumed, searching):  # type: ignore[no-untyped-def]
    """Begin the next search of each of ``resumed`` (int64[K]), games that have just been set up.

    words: uint32[W], offsets: int64[K + 1], the logs of the searches so far; the caller has
    reserved pages for them. ``searching`` (bool[K]) becomes False for games that wait for a
    tablebase.
    """
    forest = ForestRecord(forest)
    for index in range(len(resumed)):
        game = resumed[index]
        games.target_words[game] = 0
        for at in range(offsets[index], offsets[index + 1]):
            _log_word(games, targets, game, words[at])
        save_restart_point(games, game)
        was_decided = games.target_words[game] > 0
        waits = was_decided and is_in_tablebase(forest, board_of(games, game))
        searching[index] = not waits
        if waits:
            probe_game_position(forest, game, board_of(games, game))
        else:
            _begin_search(games, rules, forest, game)


@paste
def _lacks_room(
    games: Any, rules: Any, logs: Any, finished: Any, supply: Any, game: Any, cursor: Any
) -> Any:
    """True when a move, or the end of the game and the opening of another, may find no room."""
    log, targets = logs
    short = log.free[1] < 2 + rules.random_plies // PAGE_PLIES or targets.free[1] < MOST_PAGES
    short |= cursor[WORDS_DONE] + games.target_words[game] + MOST_WORDS > len(finished.words)
    return short or finished_is_full(rules, finished, cursor) or cursor[SUPPLIED] == len(supply)


@paste
def _play_row(
    tables: Any, games: Any, requests: Any, rules: Any, logs: Any,
    finished: Any, supply: Any, moves: Any, forest: Any, game: Any, cursor: Any,
) -> Any:  # fmt: skip
    """Play one row's game to its next search; False if it waits for a tablebase, or is vacant."""
    log, targets = logs
    if games.number[game] != VACANT:
        if forest.lanes[game].state == LANE_ANSWERED:
            code, outcome = _take_probe_result(forest, game)
        else:
            code = _play_decision(
                tables, games, requests, rules, log, targets, moves, forest, game, cursor
            )
            outcome = np.int64(outcome_for_mover(code))
            games.left[game] -= 1
            if code == ONGOING and is_in_tablebase(forest, board_of(games, game)):
                probe_game_position(forest, game, board_of(games, game))
                return False
        if code == ONGOING and games.left[game] != 0:
            _begin_search(games, rules, forest, game)
            return True
        _finish(games, log, targets, finished, forest, game, code, outcome, cursor)
    while start_next_game(tables, games, requests, rules, log, supply, moves, game, cursor):
        if games.left[game] != 0:
            _begin_search(games, rules, forest, game)
            return True
        _finish(games, log, targets, finished, forest, game, ONGOING, np.int64(0), cursor)
        if finished_is_full(rules, finished, cursor) or cursor[SUPPLIED] == len(supply):
            return False
    return False


@paste
def _take_probe_result(forest: Any, game: Any) -> Any:
    """The tablebase's result: (why the game is over, or ONGOING; outcome for the mover)."""
    lane = forest.lanes[game]
    lane.state = LANE_FREE
    outcome = lane.outcome
    return (ONGOING if outcome == UNKNOWN_OUTCOME else TABLEBASE), outcome


@inline
def _begin_search(games: Any, rules: Any, forest: Any, game: Any) -> None:
    """Begin the search of the position on the game's board."""
    if forest.trees[game].root == NO_NODE:
        save_restart_point(games, game)
    number, ply = games.number[game], np.int64(games.ply[game])
    full = np.int64(1)
    if rules.fast_sims > 0:
        full = np.int64(random_u64(rules.seed, number, FULL_DRAW | ply) < rules.full_share)
    sims = rules.full_sims if full else rules.fast_sims
    temperature = rules.temperature[ply]
    begin_search(forest, game, number, ply, np.int64(sims), full, full, temperature)


@paste
def _play_decision(
    tables: Any, games: Any, requests: Any, rules: Any, log: Any,
    targets: Any, moves: Any, forest: Any, game: Any, cursor: Any,
) -> Any:  # fmt: skip
    """Play the move of a finished search, unless the side resigns or the game is adjudicated, and
    write the next request; returns why the game is over, or ONGOING."""
    tree, decision = forest.trees[game], forest.decision
    decide_search(forest, tree, decision)
    root = forest.nodes[tree.root]
    games.fingerprint[game] = fold_root(games.fingerprint[game], forest, root)
    tag = fingerprint_tag(games.fingerprint[game], rules.num_tags)
    win = (decision.win * VALUE_UNIT + (1 << 23)) >> 24
    draw = (decision.draw * VALUE_UNIT + (1 << 23)) >> 24
    draw = min(draw, VALUE_UNIT - win)
    code = resign_or_adjudicate(games, rules, game, win, draw)
    if code != ONGOING:
        return code
    _log_search(games, targets, forest, game, decision)
    action = decision.action
    prob = np.float32(decision.prob)
    word = pack_ply(action, 0, win, draw, prob, tag, rules.most_steps)
    play_move(tables, games, log, game, np.uint16(action), word)
    cursor[PLAYED] += 1
    if games.ply[game] % RESTART_PLIES == 0:
        free_tree(forest, forest.trees[game])
    else:
        follow_edge(forest, game, decision.edge)
    return write_request(tables, games, requests, rules, game, moves)


@paste
def _log_search(games: Any, targets: Any, forest: Any, game: Any, decision: Any) -> None:
    """Log the search's result; only a full search gives a policy target."""
    full = forest.trees[game].is_full
    entries = decision.num_targets if full else np.int64(0)
    head = np.int64(games.ply[game]) | entries << 16 | full << 31
    _log_word(games, targets, game, head)
    _log_word(games, targets, game, decision.visits)
    _log_word(games, targets, game, decision.num_steps)
    for index in range(entries):
        _log_word(games, targets, game, decision.targets[index])


@inline
def _log_word(games: Any, targets: Any, game: Any, word: Any) -> None:
    append_word(targets, games.target_pages, game, games.target_words[game], word)
    games.target_words[game] += 1


@paste
def _finish(
    games: Any, log: Any, targets: Any, finished: Any, forest: Any,
    game: Any, code: Any, outcome: Any, cursor: Any,
) -> None:  # fmt: skip
    """Copy a game that has ended, or waits, to ``finished`` with its searches; free its tree."""
    words = games.target_words[game]
    finished.num_words[cursor[GAMES_DONE]] = words
    take_items(targets, games.target_pages, game, words, finished.words, cursor[WORDS_DONE])
    cursor[WORDS_DONE] += words
    games.target_words[game] = 0
    record_end(games, log, finished, game, code, outcome, cursor)
    free_tree(forest, forest.trees[game])
    forest.lanes[game].state = LANE_FREE
