"""The network in torch.

network             the module: planes to policy and win/draw/loss
layers              weights of a layer: float with ghost norm, or folded and quantised
neuron              LIF neurons and quantisation, in torch
fused_layer         sums, norm, shortcut and neurons in one pass on the processor
neuron_dispatch     the fastest neurons for a device
lif_triton          LIF neurons in Triton
norm_lif_triton     ghost norm, shortcut and neurons in Triton
convolution         3x3 convolutions
bf16_products       sums of folded layers on a GPU
sparse_convolution  the heads, with packed spikes as inputs
ghost_norm          ghost batch norm
exact_sums          sums whose bits do not depend on their order
rate_coding         seeded rate coding of input planes
"""

import os

os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
"""Products of matrices have the same bits for any number of threads (decision 267)."""
