"""Words of a tree's record, 128 bytes: one search of a forest; int32 but for the last ones."""

ROOT = 0
FIRST_NODE_PAGE = 1
LAST_NODE_PAGE = 2
NODES_IN_PAGE = 3
"""used of the last page"""
FIRST_EDGE_PAGE = 4
LAST_EDGE_PAGE = 5
EDGES_IN_PAGE = 6
EDGE_PAGES = 7
NUM_NODES = 8
NUM_EDGES = 9
BUDGET = 10
"""simulations of this search"""
FULL = 11
EXPLORE = 12
"""noise and forced playouts"""
READY = 13
"""the root's edges carry noise, or stand in the order of candidates"""
OLDEST_LANE = 14
IN_FLIGHT = 15
CANDIDATES = 16
"""Gumbel: moves considered in this search"""
PLY = 17
# int64 and float64, in words of 8 bytes
NUMBER = 10
"""of the game, for random numbers"""
THOUGHT = 11
"""time steps of the answers of this search"""
TEMPERATURE = 12
BASES = 13
"""address of float64[considered]: noise + log prior of the candidates"""

TREE_BYTES = 128
