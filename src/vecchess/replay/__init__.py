"""Recorded games played again and compared, bit for bit: ``vecchess replay``.

run_replay       one game, or many, played again; the differences
replayer         plays games again by their numbers, with the networks that played them
find_games       recorded games by number, without reading all shards
compare_records  the first difference of two records
"""
