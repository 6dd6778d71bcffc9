"""Words of a forest's descriptor: int64[NUM_WORDS], the one address that kernels are given."""

TABLES = 0
"""chess tables"""
NODES = 1
EDGES = 2
NODE_FOLLOWING = 3
"""int32 a page: the next of the same tree, or of the free ones"""
EDGE_FOLLOWING = 4
NODE_FREE = 5
"""first free page, or NO_PAGE"""
EDGE_FREE = 6
NODE_FRESH = 7
"""pages from here on were never used"""
EDGE_FRESH = 8
TREES = 9
LANES = 10
POSITIONS = 11
"""uint64[G, 8]: the boards to be searched"""
KEYS = 12
"""uint64[G, 102]: their histories"""
PLANES = 13
"""this and the next five: the rows of ``inference.requests.Requests``"""
LEGAL = 14
NUM_LEGAL = 15
POLICY = 16
WDL = 17
STEPS = 18
CACHE = 19
"""evaluation cache, or 0"""
BOARD = 20
"""scratch: uint64[8], the board on the way down the tree"""
HISTORY = 21
"""scratch: uint64[102], its history"""
MOVES = 22
"""scratch: uint16[256]"""
WEIGHTS = 23
"""scratch: uint32[218]"""
ENTRY = 24
"""scratch: int32[4 + 218], an evaluation (``expand``)"""
DECISION = 25
"""scratch: see ``decide``"""
ASKED_ROWS = 26
"""int32: rows with new questions"""
NUM_ASKED = 27
PROBE_ROWS = 28
"""int32: rows whose position is to be looked up in a tablebase"""
NUM_PROBES = 29
HALVING = 30
"""int32[2, considered + 1, most sims]: considered visits of full and fast searches"""
MOST_SIMS = 31
LANES_A_TREE = 32
METHOD = 33
SOLVE = 34
REUSE = 35
DRAW_SCORE = 36
"""in 2**-16"""
CONSIDERED = 37
MOST_NODES = 38
"""of a tree"""
MOST_EDGE_PAGES = 39
"""of a tree"""
TABLEBASE_MEN = 40
"""most men in the tablebases; 0: none"""
SEED = 41
REALS = 42
"""scratch: float64[218]"""
TRIAL_BOARD = 43
"""scratch: uint64[8], to try a move on"""
TRIAL_MOVES = 44
"""scratch: uint16[256]"""
SEE_MATES = 45
PAST = 46
"""uint64[G, 8, 8]: the positions before those to be searched (``chess.past``); unused if H = 1"""
TRAIL = 47
"""scratch: uint64[8, 8], the positions before the one on the way down the tree"""
# float64
POLICY_SCALE = 48
"""log2 of the odds for one unit of accumulator over one time step"""
VALUE_SCALE = 49
C_VISIT = 50
C_SCALE = 51
C_PUCT = 52
C_PUCT_BASE = 53
C_PUCT_FACTOR = 54
FPU_REDUCTION = 55
ROOT_FPU_REDUCTION = 56
NOISE_FRACTION = 57
NOISE_CONCENTRATION = 58
FORCED_PLAYOUTS = 59
# int64 again
SEEN = 60
"""H, the positions that the network sees"""
ROW_BYTES = 61
"""of the planes of a request row"""
# counters
SIMULATIONS = 64
EVALUATIONS = 65
CACHE_PROBES = 66
CACHE_HITS = 67
TERMINALS = 68
"""simulations that ended where the game was over, or the outcome proven"""
SEARCHES = 69
UNEXPANDED = 70
"""evaluations whose moves found no room in the tree"""
DEPTH = 71
"""sum of the depths of all simulations"""
NODES_MADE = 72
EDGES_MADE = 73
DEEPEST = 74
"""depth of the deepest simulation since somebody wrote 0 here"""

NUM_WORDS = 80
GUMBEL, PUCT = 1, 2
"""Values of METHOD."""
