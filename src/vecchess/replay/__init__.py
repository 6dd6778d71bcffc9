"""Recorded games played again and compared, bit for bit: ``vecchess replay``.

run_replay       one game, or many, found by number and played again; the differences
replayer         plays games again by their numbers, with the networks that played them
compare_records  the first difference of two records
"""
