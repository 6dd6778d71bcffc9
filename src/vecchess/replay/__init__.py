"""Recorded games played again and compared, bit for bit: ``vecchess replay``.

run_replay       one game, or many, played again; the differences
replayer         plays games again by their numbers
play_spans       plays games again in which networks took turns
find_games       recorded games by number, without reading all shards
find_networks    the networks that played them
compare_records  the first difference of two records
"""
