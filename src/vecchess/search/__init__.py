"""Tree search: PUCT and Gumbel AlphaZero, many trees at a time, for self-play and for analysis.

- ``policy_search`` ``PolicySearch``: positions in, policies and values back, with any evaluator
- ``tree_driver`` boards, requests, engine and trees of both kinds of search:
- ``batch_search`` searches of many given positions at the same time
- ``game_search`` searches of one game, move after move, in a tree that is kept
- ``principal_variations`` the best lines of a tree
- ``forest`` the memory of the trees of one thread, and its settings
- ``tree_memory`` limits of a tree, and the allocation of memory
- ``tablebase`` outcomes of Syzygy tablebases
- ``tree`` the layout of nodes, edges, trees and requests; the pool of nodes
- ``kernels`` the search itself
"""

from vecchess.callable_package import make_callable
from vecchess.search.policy_search import Evaluator, PolicyOutput, PolicySearch

__all__ = ["Evaluator", "PolicyOutput", "PolicySearch"]

make_callable(__name__)
