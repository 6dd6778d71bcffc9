"""The fast backend without a GPU: numba kernels, by events or by dense products.

backend         the backend
kernel_threads  a network's kernels and the threads that run them
kernels         one time step of a group of boards
events          convolution by events: adds the weight rows of the spikes
dense           convolution by int8 dot products
density         chooses between the two for each layer
neurons         scale, bias, neurons and spikes of a board
readout         the policy and value heads
packed_network  packs weights, allocates state and scratch
layerwise       the engine to compare with: all time steps of a layer at once
"""
