"""Fixed examinations of players: best moves, puzzles and won endings.

run_suite      one player after another sits a suite: its games, its result
best_moves     positions with their best moves, and how a player does in them
epd            such positions in EPD files; ``moves.epd`` and ``puzzles.epd`` are in the package
endings        won endings, played out against the longest defence
endgame_table  moves to mate with two or three men against a bare king
suite_result   shares with their intervals, by groups of positions
"""
