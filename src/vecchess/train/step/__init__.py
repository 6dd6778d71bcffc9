"""One update of the weights.

learner          forward, backward, sum over ranks, AdamW; evaluation on held-out positions
device_batcher   copies of batches to the device, and of numbers back
losses           log probabilities after each time step, and the losses of each objective
optimiser        AdamW's parameter groups, learning rate, state by parameter name
"""
