"""The benchmarks of ``vecchess bench``; comparisons with other libraries are in ``bench/peers``.

- ``perft_speed``, ``movegen_speed`` the rules of chess
- ``throughput``, ``search`` whole self-play; searches of many positions
- ``inference``, ``own_entrants``, ``batching_engines`` engines of a network on the same positions:
  opened, checked, and timed
- ``training_plan``, ``training_speed`` what a training will cost, for ``vecchess plan``
- ``training``, ``loading`` training steps, and batches from recorded games
- ``paired_timing`` entrants timed in turns

Decision 202.
"""
