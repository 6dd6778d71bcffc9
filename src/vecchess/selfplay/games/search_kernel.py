"""The mover's kernel where moves are searched: from decisions to the next searches.

One call takes rows whose searches are over. Each gives a move, which is logged and made, and the
next search is prepared in what is left of the tree; a game that ended is set down in ``Finished``
and the next number starts in its seat. Nothing here depends on any other game.
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
from vecchess.selfplay.games.fingerprint import fold_root_unbatched, tag_unbatched
from vecchess.selfplay.games.game_kernel import (
    CONSUMED,
    GAMES_DONE,
    ONGOING,
    OPENING_ATTEMPTS,
    PLAYED,
    READY,
    SUPPLIED,
    TABLEBASE,
    WORDS_DONE,
    anchor_unbatched,
    ask_unbatched,
    board_of,
    draw_randomly_unbatched,
    finish_unbatched,
    give_up_unbatched,
    is_full_unbatched,
    move_unbatched,
    next_number_unbatched,
    outcome_unbatched,
    set_up_unbatched,
    take_back_unbatched,
)
from vecchess.selfplay.games.game_table import VACANT
from vecchess.selfplay.games.ply_log import PAGE_PLIES, pack_ply_unbatched
from vecchess.selfplay.games.target_log import (
    MOST_PAGES,
    MOST_WORDS,
    append_word_unbatched,
    take_words_unbatched,
)
from vecchess.store.records import VALUE_UNIT

FULL_DRAW = 1 << 41
"""Counter of the random number that makes the search of ply 0 full or fast."""
ANCHOR_PLIES = 16
"""A game's tree is begun anew every so many plies: from there a saved game can go on to the bit."""

# What is to be done next in a seat: set the board up, play a random move, or what was decided.
BEGIN, RANDOM, DECISION = range(3)


@kernel
def play_decisions(  # type: ignore[no-untyped-def]
    tables, games, requests, rules, logs, finished, supply, moves, forest, rows, ready, cursor
):
    """Play what was decided in ``rows``, and put those with a search to carry on into ``ready``.

    A row without a game starts one. Stops early when there is no room in ``finished`` or the
    logs, or ``supply`` is used up; ``cursor`` tells how far it got.
    """
    forest = ForestRecord(forest)
    while cursor[CONSUMED] < len(rows):
        row = rows[cursor[CONSUMED]]
        seat = np.int64(row - requests.first)
        if _lacks_room(games, rules, logs, finished, supply, seat, cursor):
            return
        cursor[CONSUMED] += 1
        if _play_seat(
            tables, games, requests, rules, logs, finished, supply, moves, forest, seat, cursor
        ):
            ready[cursor[READY]] = row
            cursor[READY] += 1


@kernel
def resume_searches(games, rules, targets, forest, words, offsets, seats, searching):  # type: ignore[no-untyped-def]
    """Begin the next search in each of ``seats`` (int64[K]), whose game has just been set up.

    words: uint32[W], offsets: int64[K + 1], what the searches so far logged; the caller has
    reserved pages for it. ``searching`` (bool[K]) tells who does not wait for a tablebase.
    """
    forest = ForestRecord(forest)
    for index in range(len(seats)):
        seat = seats[index]
        games.target_words[seat] = 0
        for at in range(offsets[index], offsets[index + 1]):
            _log_word(games, targets, seat, words[at])
        anchor_unbatched(games, seat)
        was_decided = games.target_words[seat] > 0
        waits = was_decided and is_in_tablebase(forest, board_of(games, seat))
        searching[index] = not waits
        if waits:
            probe_game_position(forest, seat, board_of(games, seat))
        else:
            _begin_search(games, rules, forest, seat)


@paste
def _lacks_room(
    games: Any, rules: Any, logs: Any, finished: Any, supply: Any, seat: Any, cursor: Any
) -> Any:
    """True when a move, or the end of the game and the opening of another, may find no room."""
    log, targets = logs
    short = log.free[1] < 2 + rules.random_plies // PAGE_PLIES or targets.free[1] < MOST_PAGES
    short |= cursor[WORDS_DONE] + games.target_words[seat] + MOST_WORDS > len(finished.words)
    return short or is_full_unbatched(rules, finished, cursor) or cursor[SUPPLIED] == len(supply)


@paste
def _play_seat(
    tables: Any, games: Any, requests: Any, rules: Any, logs: Any,
    finished: Any, supply: Any, moves: Any, forest: Any, seat: Any, cursor: Any,
) -> Any:  # fmt: skip
    """Bring one seat to its next search; False if it waits for a tablebase, or has no game."""
    log, targets = logs
    attempt = 0
    task = DECISION
    if games.number[seat] == VACANT:
        if not next_number_unbatched(games, rules, supply, seat, cursor):
            return False
        task = BEGIN
    while True:
        code, outcome = ONGOING, np.int64(0)
        if task == BEGIN:
            set_up_unbatched(games, rules, seat)
        elif task == RANDOM:
            choice, prob = draw_randomly_unbatched(games, requests, rules, seat, attempt)
            action = requests.legal[seat, choice]
            word = pack_ply_unbatched(action, 0, 0, 0, prob, 0, rules.most_steps)
            move_unbatched(tables, games, log, seat, action, word)
            cursor[PLAYED] += 1
        elif forest.lanes[seat].state == LANE_ANSWERED:
            code, outcome = _take_verdict(forest, seat)
            if code == ONGOING:
                _begin_search(games, rules, forest, seat)
                return True
        else:
            code = _play_decision(tables, games, rules, log, targets, forest, seat, cursor)
        if code == ONGOING:
            code = ask_unbatched(tables, games, requests, rules, seat, moves)
        if code != TABLEBASE:
            outcome = np.int64(outcome_unbatched(code))
        if code != ONGOING and task == DECISION:
            _finish(games, log, targets, finished, forest, seat, code, outcome, cursor)
            if not next_number_unbatched(games, rules, supply, seat, cursor):
                return False
            task = BEGIN
        elif code != ONGOING:
            take_back_unbatched(games, log, seat)
            attempt += 1
            task = BEGIN
        elif task != DECISION and games.ply[seat] < rules.random_plies * (
            attempt < OPENING_ATTEMPTS
        ):
            task = RANDOM
        elif task == DECISION and is_in_tablebase(forest, board_of(games, seat)):
            probe_game_position(forest, seat, board_of(games, seat))
            return False
        else:
            _begin_search(games, rules, forest, seat)
            return True


@paste
def _take_verdict(forest: Any, seat: Any) -> Any:
    """What the tablebase says of the game: (why it is over, or ONGOING; outcome for the mover)."""
    lane = forest.lanes[seat]
    lane.state = LANE_FREE
    outcome = lane.outcome
    return (ONGOING if outcome == UNKNOWN_OUTCOME else TABLEBASE), outcome


@inline
def _begin_search(games: Any, rules: Any, forest: Any, seat: Any) -> None:
    """Begin the search of the position on the seat's board."""
    if forest.trees[seat].root == NO_NODE:
        anchor_unbatched(games, seat)
    number, ply = games.number[seat], np.int64(games.ply[seat])
    full = np.int64(1)
    if rules.fast_sims > 0:
        full = np.int64(random_u64(rules.seed, number, FULL_DRAW | ply) < rules.full_share)
    sims = rules.full_sims if full else rules.fast_sims
    temperature = rules.temperature[ply]
    begin_search(forest, seat, number, ply, np.int64(sims), full, full, temperature)


@paste
def _play_decision(
    tables: Any, games: Any, rules: Any, log: Any, targets: Any, forest: Any, seat: Any, cursor: Any
) -> Any:
    """Play the move of a search that is over, unless the side gives up; returns why, or ONGOING."""
    tree, decision = forest.trees[seat], forest.decision
    decide_search(forest, tree, decision)
    root = forest.nodes[tree.root]
    games.fingerprint[seat] = fold_root_unbatched(games.fingerprint[seat], forest, root)
    tag = tag_unbatched(games.fingerprint[seat], rules.num_tags)
    win = (decision.win * VALUE_UNIT + (1 << 23)) >> 24
    draw = (decision.draw * VALUE_UNIT + (1 << 23)) >> 24
    draw = min(draw, VALUE_UNIT - win)
    code = give_up_unbatched(games, rules, seat, win, draw)
    if code != ONGOING:
        return code
    _log_search(games, targets, forest, seat, decision)
    action = decision.action
    prob = np.float32(decision.prob)
    word = pack_ply_unbatched(action, 0, win, draw, prob, tag, rules.most_steps)
    move_unbatched(tables, games, log, seat, np.uint16(action), word)
    cursor[PLAYED] += 1
    if games.ply[seat] % ANCHOR_PLIES == 0:
        free_tree(forest, forest.trees[seat])
    else:
        follow_edge(forest, seat, decision.edge)
    return ONGOING


@paste
def _log_search(games: Any, targets: Any, forest: Any, seat: Any, decision: Any) -> None:
    """Log what the search found; only a full one gives a policy target."""
    full = forest.trees[seat].is_full
    entries = decision.num_targets if full else np.int64(0)
    head = np.int64(games.ply[seat]) | entries << 16 | full << 31
    _log_word(games, targets, seat, head)
    _log_word(games, targets, seat, decision.visits)
    _log_word(games, targets, seat, decision.num_steps)
    for index in range(entries):
        _log_word(games, targets, seat, decision.targets[index])


@inline
def _log_word(games: Any, targets: Any, seat: Any, word: Any) -> None:
    first, last = append_word_unbatched(
        targets, games.target_pages[seat, 0], games.target_pages[seat, 1],
        games.target_words[seat], np.uint32(word),
    )  # fmt: skip
    games.target_pages[seat, 0] = first
    games.target_pages[seat, 1] = last
    games.target_words[seat] += 1


@paste
def _finish(
    games: Any, log: Any, targets: Any, finished: Any, forest: Any,
    seat: Any, code: Any, outcome: Any, cursor: Any,
) -> None:  # fmt: skip
    """Set the game down in ``finished`` with its searches, and give its tree back."""
    words = games.target_words[seat]
    finished.num_words[cursor[GAMES_DONE]] = words
    take_words_unbatched(
        targets, games.target_pages[seat, 0], games.target_pages[seat, 1], words,
        finished.words, cursor[WORDS_DONE],
    )  # fmt: skip
    cursor[WORDS_DONE] += words
    games.target_words[seat] = 0
    finish_unbatched(games, log, finished, seat, code, outcome, cursor)
    free_tree(forest, forest.trees[seat])
    forest.lanes[seat].state = LANE_FREE
