"""A residual network without time, as other chess programs have them: T = 1 and no state.

vecchess selfplay --net "module:examples.convolutional.network:make?channels=64&blocks=4"
"""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(channels) for _ in range(2))

    def forward(self, x):
        y = torch.relu(self.norms[0](self.first(x)))
        return torch.relu(x + self.norms[1](self.second(y)))


class ConvolutionalNetwork(nn.Module):
    time_steps = 1

    def __init__(self, channels, blocks):
        super().__init__()
        self.stem = nn.Conv2d(25, channels, 3, padding=1)
        self.blocks = nn.Sequential(*(Block(channels) for _ in range(blocks)))
        self.policy = nn.Conv2d(channels, 73, 1)
        self.value = nn.Conv2d(channels, 8, 1)
        self.wdl = nn.Linear(8 * 64, 3)

    def initial_state(self, num_slots):
        return None

    def forward(self, planes, state):
        x = self.blocks(torch.relu(self.stem(planes)))
        policy = self.policy(x).flatten(1)  # actions are numbered move plane * 64 + from-square
        return policy, self.wdl(torch.relu(self.value(x)).flatten(1)), state


def make(channels="64", blocks="4"):
    return ConvolutionalNetwork(int(channels), int(blocks))
