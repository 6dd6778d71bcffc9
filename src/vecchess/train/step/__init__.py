"""One update of the weights.

learner          forward, backward, sum over ranks, AdamW; evaluation on held-out positions
device_batcher   copies of batches to the device, and of numbers back
losses           log probabilities after each time step, and the losses of each objective
optimiser        the exact sum of gradients, AdamW, its learning rate, the average of the weights
trained_module   a module of the user, as the learner sees a network
"""
