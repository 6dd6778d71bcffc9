"""Layout of a forest's memory: the trees of many searches that share one pool of nodes and edges.

Kernels get one address, that of the ``ForestRecord``, and find everything from there. No Python
object stands for a node; a node is 64 bytes, one cache line, an edge 16 (``memory_layout``).

Edges of a node lie side by side. Opened ones, whose child was visited, come first, in the order of
opening; the next after them is the one that may be opened next (decision 50). Values are in 2**-24
(``UNIT``, decision 49), for the mover of the node.
"""

from typing import Annotated

from vecchess.memory_layout import F32, F64, I32, I64, U8, U16, U32, U64, Array, Record
from vecchess.shapes import MAX_MOVES

UNIT = 1 << 24
"""A won game, in the unit of values."""
NODES_A_PAGE = 32
EDGES_A_PAGE = 512
NO_NODE = -1
NO_PAGE = -1
NO_EDGE = -1
GUMBEL, PUCT = 1, 2
"""Values of ``ForestRecord.method``."""


class NodeRecord(Record, nbytes=64):
    """A position in a tree."""

    visits: I32
    pending: I32
    """visits under way, whose evaluation is not known yet"""
    value_sum: I64
    draw_sum: I64
    parent: I32
    parent_edge: I32
    first_edge: I32
    mating_action: Annotated[I32, "first_edge"]
    """of a leaf won by a mate in one, which has no edges"""
    num_edges: U16
    num_opened: U16
    num_lost: U16
    """edges proven lost"""
    state: U16
    """bits, see ``WON`` and the others below"""
    distance: U16
    """plies to the proven end"""
    cycle: U16
    """plies since the position occurred, where that makes the node a draw; else 0"""
    raw_value: I32
    raw_draw: I32
    unopened_mass: F64
    """sum of the priors of the edges that are not opened"""


WON, LOST, TERMINAL, EXPANDED, AWAITED, BLACK = 1, 2, 4, 8, 16, 32
"""Bits of a node's state. AWAITED: its evaluation was requested. BLACK: the side to move."""
PROVEN = WON | LOST
OVER = PROVEN | TERMINAL
"""States of nodes below which nothing is searched: a visit counts the value once more."""


class EdgeRecord(Record, nbytes=16):
    """A move of a node."""

    word: U32
    """prior (16 bits) | won | lost | action (13 bits), see ``edge_word``"""
    child: I32
    visits: I32
    """of the child, pending ones included"""
    word_and_child: Annotated[U64, "word"]
    """both in one, to exchange edges"""
    value: F32
    """mean value of the child, for the mover who chooses the edge"""
    value_bits: Annotated[U32, "value"]


class PageChain(Record):
    """The pages of one kind, nodes or edges, that belong to one tree."""

    first: I32
    last: I32
    num_used: I32
    """items in use of the last page"""
    num_pages: I32
    num_items: I32


class PagePool(Record):
    """All pages of one kind."""

    following: Array[I32]
    """for each page the next one of the same tree, or the next free one"""
    first_free: I64
    first_unused: I64
    """pages from here on were never used"""


class TreeRecord(Record, nbytes=128):
    """One search."""

    root: I32
    node_pages: PageChain
    edge_pages: PageChain
    budget: I32
    """simulations of this search"""
    is_full: I32
    """a full search, not a fast one"""
    explores: I32
    """with noise and forced playouts"""
    is_root_ready: I32
    """the root's edges carry noise, or stand in the order of candidates"""
    oldest_lane: I32
    in_flight: I32
    """simulations whose evaluation is not known yet"""
    num_candidates: I32
    """Gumbel: moves considered in this search"""
    ply: I32
    number: I64
    """of the game, for random numbers"""
    num_steps: I64
    """time steps of the network in this search"""
    temperature: F64
    candidate_scores: Array[F64]
    """float64[considered]: noise + log prior of the candidates"""


class LaneRecord(Record, nbytes=32):
    """A simulation in flight: there is one lane for each request row."""

    leaf: I32
    """node; NO_NODE for a game's own position, which waits for a tablebase"""
    state: I32
    """LANE_FREE .. LANE_ANSWERED"""
    key: U64
    check: U64
    """of the position, in the evaluation cache"""
    outcome: I64
    """of a game's own position, by the tablebase"""


LANE_FREE, LANE_REQUESTED, LANE_PROBED, LANE_ANSWERED = range(4)


class EvaluationRecord(Record):
    """An evaluation on its way from the network, or the cache, to the edges of a node."""

    value: I32
    draw: I32
    num_steps: I32
    num_moves: I32
    moves: Annotated[Array[U32], MAX_MOVES]
    """prior << 16 | action, in the order of generation"""


class DecisionRecord(Record):
    """What a search that is over decided. Point of view: the side to move."""

    action: I32
    edge: I32
    """number of its edge"""
    num_targets: I32
    visits: I32
    win: I32
    draw: I32
    num_steps: I64
    """time steps of the network"""
    prob: F32
    """with which the move was drawn"""
    targets: Annotated[Array[U32], MAX_MOVES]
    """probability << 16 | action; the probability in 1/65535"""


class ForestRecord(Record):
    """The addresses of a forest's memory, its settings and its counters."""

    tables: I64
    """the lookup tables of ``chess``"""
    nodes: Array[NodeRecord]
    edges: Array[EdgeRecord]
    node_pages: PagePool
    edge_pages: PagePool
    trees: Array[TreeRecord]
    lanes: Array[LaneRecord]
    cache: I64
    """the evaluation cache, or 0"""
    positions: I64
    """uint64[G, 8]: the boards to be searched"""
    keys: I64
    """uint64[G, 102]: their histories"""
    past: I64
    """uint64[G, 8, 8]: the positions before them; unused if H = 1"""

    planes: I64
    """this and the next five: arrays of ``inference.requests``"""
    legal: I64
    num_legal: Array[U8]
    policy: I64
    wdl: I64
    steps: Array[U8]
    row_bytes: I64
    """bytes of the planes of a request row"""
    seen: I64
    """H, the positions that the network sees"""

    board: I64
    """scratch: uint64[8], the position at the current end of the path"""
    path_keys: I64
    """scratch: uint64[102], its history"""
    path_past: I64
    """scratch: uint64[8, 8], the positions before it"""
    moves: I64
    """scratch: uint16[256]"""
    trial_board: I64
    """scratch: uint64[8], to try a move on"""
    trial_moves: I64
    """scratch: uint16[256]"""
    weights: Array[I32]
    """scratch: int32[218]"""
    reals: Array[F64]
    """scratch: float64[218]"""
    evaluation: EvaluationRecord
    decision: DecisionRecord

    requested_rows: Array[I32]
    """rows with new requests to the network"""
    num_requested: I64
    probed_rows: Array[I32]
    """rows whose position is to be looked up in a tablebase"""
    num_probed: I64

    method: I64
    lanes_a_tree: I64
    solve: I64
    see_mates: I64
    reuse: I64
    considered: I64
    considered_visits: Array[I32]
    """int32[2, considered + 1, max_sims], of full and fast searches, see ``gumbel``"""
    max_sims: I64
    max_nodes: I64
    """of a tree"""
    max_edge_pages: I64
    """of a tree"""
    tablebase_men: I64
    """most men in the tablebases; 0: none"""
    seed: U64
    draw_score: I64
    """in 2**-16"""
    policy_scale: F64
    """log2 of the odds for one unit of accumulator over one time step"""
    value_scale: F64
    c_visit: F64
    c_scale: F64
    c_puct: F64
    c_puct_base: F64
    c_puct_factor: F64
    fpu_reduction: F64
    root_fpu_reduction: F64
    noise_fraction: F64
    noise_concentration: F64
    forced_playouts: F64

    simulations: I64
    evaluations: I64
    cache_probes: I64
    cache_hits: I64
    terminals: I64
    """simulations that ended where the game was over, or the outcome proven"""
    searches: I64
    unexpanded: I64
    """evaluations whose moves found no room in the tree"""
    depth: I64
    """sum of the depths of all simulations"""
    nodes_made: I64
    edges_made: I64
    max_depth: I64
    """of a simulation, since it was last set to 0"""


COUNTERS = (
    "simulations", "evaluations", "cache_probes", "cache_hits", "terminals", "searches",
    "unexpanded", "depth", "nodes_made", "edges_made",
)  # fmt: skip
"""Fields of a ``ForestRecord`` that count since the start."""
