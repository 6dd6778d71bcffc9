"""Kernels of the torch modules on the processor, and what they share.

lif_cpu         LIF neurons over all time steps, and their gradients
sparse_sums     sums over spikes, and gradients of weights
move_sums       sums of the policy head, of legal moves alone
winograd        3x3 convolutions of numbers, for gradients
ghost_norm_cpu  ghost batch norm
surrogate       surrogate gradients
parallel_for    runs work on threads
triton_support  whether Triton can run on a device
"""
