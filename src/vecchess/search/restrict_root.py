"""A root that may play some of its moves only."""

from collections.abc import Sequence

import numpy as np

from vecchess.search.forest import Forest
from vecchess.search.kernels.priors import decode_priors, encode_priors
from vecchess.search.tree import node_layout as layout
from vecchess.search.tree import tree_layout as record


def restrict_root(forest: Forest, tree: int, actions: Sequence[int]) -> None:
    """Leave the root of a tree only the moves with these action codes, one of them at least.

    The root has to be expanded and without a visit below it. Their priors sum to 1 again.
    """
    node = forest.nodes[forest.records[tree, record.ROOT]]
    shorts = node.view(np.uint16)
    first = int(node[layout.FIRST_EDGE])
    edges = forest.edges[first : first + int(shorts[layout.NUM_EDGES])]
    words = edges[:, layout.PRIOR_ACTION].copy().view(np.uint32).astype(np.int64)
    is_kept = np.isin(words & layout.ACTION_MASK, actions)
    priors = decode_priors(words[is_kept] >> 16)
    codes = encode_priors(priors / priors.sum())
    words = np.sort(codes << 16 | words[is_kept] & layout.ACTION_MASK)[::-1]
    edges[: len(words), layout.PRIOR_ACTION] = words.astype(np.uint32).view(np.int32)
    shorts[layout.NUM_EDGES] = len(words)
    node.view(np.float64)[layout.UNOPENED_MASS] = decode_priors(words >> 16).sum()
