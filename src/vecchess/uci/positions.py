"""The positions of ``bench``. A signature is of these: to change one is to change it.

The start, five from chessprogramming.org's *Perft Results*, Chess960 castling, and endings.
"""

BENCH_FENS = (
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3",
    "rnb1kbr1/p1pp1ppp/1q2pn2/1p6/3PP3/2N2N2/PPP2PPP/R1BQKB1R w KQq - 0 6",
    "1r2k1r1/pppppppp/8/8/8/8/PPPPPPPP/1R2K1R1 w GBgb - 0 1",
    "8/8/4k3/8/2p5/8/B2P4/4K3 w - - 0 1",
    "8/5k2/8/8/2R5/8/4K3/8 w - - 90 80",
    "4k3/8/4K3/4P3/8/8/8/8 b - - 4 60",
)
