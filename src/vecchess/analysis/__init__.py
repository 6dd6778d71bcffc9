"""The analysis of single positions.

- ``parse_position`` the position with its game; as a request to a network
- ``open_evaluator`` the network, or a built-in evaluator, on its device
- ``run_analysis`` the search of a position, with what it found so far
- ``spike_trace`` the spikes of a network at one position
"""
