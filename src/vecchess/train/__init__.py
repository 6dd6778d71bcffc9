"""Training: from games to networks, on one device or many.

run_train          one run from settings to summary
trainer            the loop: have positions ready, learn, publish, evaluate, save
selfplay_source    self-play games, one generation an iteration
dataset_source     recorded games: for supervised learning, or mixed with a run's own
initial_network    the network that a run starts with
run_copies         what other machines have of the run, sent by rank 0
training_matches   progress matches and the gate's
run_cost           processor time, time of GPUs and energy that the run has cost
train_reporter     printed lines, status, metrics, TensorBoard

data               batches of samples from shards
step               one update of the weights
checkpoint         the state of a run on disk
distributed        ranks, their collectives and their launch
"""

from vecchess.callable_package import make_callable

make_callable(__name__)
