"""Inference: answers questions about positions with a network, on a processor or a GPU.

requests          the rows that hold questions and answers
engine            the inference loop: admit, advance one time step, harvest
backend           the protocol that a device implements
backend_registry  opens backends by name, or by a factory of the user's
host_backend      rows, slots and single steps of the backends that compute on the host
exit_rule         the rule by which a position leaves before T time steps
module_backend    the backend of torch modules that users bring
playable_net      the networks that backends compute
source            what a text like that of ``--net`` names, and the network of it
open_network      from that to a network on its device
cpu               the fast backend of the processor
cuda              the backend of NVIDIA GPUs
reference         the slow backend in plain torch
float_backend     the backend of networks that answer in floats, in one step
lc0_backend       that of lc0's networks
torch_evaluator   a module of torch as an evaluator of searches
builtin           networks without weights: constant, material
tune              chooses slot counts and exit rules by measurement
"""
