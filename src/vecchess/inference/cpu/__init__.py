"""The fast backend without a GPU: numba kernels, by events or by dense products.

backend         the backend: threads, and the choice of each layer's kernel
kernels         all time steps of a few boards at a time
events          convolution by events: adds the weight rows of the spikes
dense           convolution by int8 dot products
neurons         shift, bias, neurons and spikes of a board, some time steps at once
readout         the policy and value heads
packed_network  packs weights, allocates scratch
"""
