"""The kernels of tree search: simulate, evaluate, expand, back up, decide.

- ``entry_points`` the kernels that Python calls
- ``simulate`` one search step by step
- ``search_path`` the board on the way down a tree, and its history
- ``puct``, ``gumbel`` selection of the edge to follow; candidates and noise of the root
- ``evaluate_leaf`` a new position: over, known to the cache, or to be evaluated
- ``evaluation_cache`` evaluations kept for positions that come up again
- ``expand`` from the network's answer to the edges of a node
- ``backup`` values and proofs up the tree
- ``decide`` the move, its probability, and the policy target
- ``tree_reuse`` the part of a tree that is kept after a move
- ``sampling``, ``noise``, ``exact_math`` random choices, the same on every machine
- ``atomic`` locks and shared words
- ``alpha_beta`` minimax by material, for players of modest strength
"""
