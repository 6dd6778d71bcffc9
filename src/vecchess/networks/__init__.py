"""Networks that a user brings: any torch module that takes one time step a call.

step_module       the contract that such a module meets, and its check
step_function     that step in bfloat16, and compiled
module_spec       ``module:package.module:make?channels=64``, and names that packages register
module_net        such a network as a value: where it comes from, and its weights
state_nest        nests of tensors, slot first
hidden_state      what adapters have in common: a state that a library hides, made explicit
snntorch_network, spikingjelly_network, norse_network  networks of these libraries
"""
