"""One update of the weights.

learner          forward, backward, sum over ranks, AdamW; evaluation on held-out positions
batch_shares     which rows of a batch each rank computes
device_batcher   copies of batches to the device, and of numbers back
losses           log probabilities after each time step, and the losses of each objective
gradient_sum     gradients added up exactly, over parts and ranks
optimiser        AdamW's parameter groups, state by parameter name
schedule         the learning rate over a run
trained_module   a module of the user, as the learner sees a network
weight_average   the average of the weights, which plays and is published
"""
