"""Networks of lc0 (Leela Chess Zero): its weight files, and what computes them in plain torch.

lc0_moves      lc0's order of moves
lc0_planes     lc0's input planes, for networks and for training data
weights_file   the layers in a weight file, or one line why it cannot be used
protobuf_wire  the fields of a protocol buffer
lc0_network    answers many positions at a time
"""
