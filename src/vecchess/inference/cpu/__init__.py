"""The fast backend without a GPU: numba kernels, by events or by dense products."""
