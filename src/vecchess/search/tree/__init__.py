"""The memory of trees, for kernels.

- ``layout`` records of nodes, edges, trees, requests and settings
- ``edge_word`` prior, proof and action of an edge in one word
- ``node_pool`` pages of nodes and edges, from tree to tree
"""
