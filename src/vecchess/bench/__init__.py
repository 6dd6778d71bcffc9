"""The benchmarks of ``vecchess bench``; comparisons with other libraries are in ``bench/peers``.

- ``perft_speed``, ``movegen_speed`` the rules of chess
- ``throughput``, ``search`` whole self-play; searches of many positions
- ``inference``, ``entrants`` a network with and without exits, and its ReLU twin
- ``training_plan``, ``training_speed`` what a training will cost, for ``vecchess train --plan``
- ``paired_timing`` entrants timed in turns

Decision 202: what a user decides by; measurements for developers are in ``bench/``.
"""
