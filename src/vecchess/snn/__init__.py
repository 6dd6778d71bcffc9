"""Spiking neural networks: sizes, integers, and the torch modules that are trained.

presets        sizes of a network, and the named ones
topology       layers in forward order and their connections
integer        the deployed network: integers, proof of exactness, file
initialise     a new network, fitted to positions layer by layer
create         new networks for chess positions
modules        the network in torch, for training
kernels        numba kernels of the modules
torch_integer  converts between module and integers; the neurons in sight
"""
