"""Kernels of the torch modules on the processor, and what they share.

layer_cpu       a whole layer, forward and backward, a group of boards at a time
lif_cpu         LIF neurons, a row at a time, and clipped ReLUs
sparse_sums     sums over spikes, and gradients of weights
move_sums       sums of the policy head, of legal moves alone
winograd        3x3 convolutions of numbers, for gradients
ghost_norm_cpu  ghost batch norm, of a group of boards
surrogate       surrogate gradients
parallel_for    runs work on threads
triton_support  whether Triton can run on a device
"""
