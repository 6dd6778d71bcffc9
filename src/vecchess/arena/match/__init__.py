"""Matches between two players.

run_match        from specs and settings to a match
play_match       a match between two players: progress and result
game_scheduler   many games at a time, and the threads of the players
match_openings   the openings, each played twice
adjudication     ends games early, by expected values and tablebases
pair_counter     the score, counted in pairs of games
match_pgn        the games as PGN
"""
