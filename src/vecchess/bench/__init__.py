"""The benchmarks of ``vecchess bench``; comparisons with other libraries are in ``bench/peers``.

- ``perft_speed``, ``movegen_speed`` the rules of chess
- ``throughput``, ``search``, ``evaluators`` whole self-play; searches, with their evaluators
- ``inference``, ``entrants``, ``own_entrants``, ``batching_engines``, ``agreement`` engines of a
  network on the same positions: opened, checked, and timed
- ``inference_result``, ``operations``, ``machine_limits``, ``roofline``, ``exit_speedup`` its
  figures: operations, limits of the machine, the best possible speed, early exits
- ``training``, ``loading`` training steps, and batches from recorded games
- ``paired_timing`` entrants timed in turns
"""
