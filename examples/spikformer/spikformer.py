"""A small Spikformer over the 64 squares of a board, in spikingjelly; it knows nothing of vecchess.

Zhou et al. 2023, arXiv 2209.15425: queries, keys and values are spikes, so attention needs no
softmax, and its products are sums of ones. A square is a token, so nothing is pooled in front.
"""

import torch
from spikingjelly.activation_based import functional, neuron
from torch import nn

ATTENTION_SCALE, ATTENTION_THRESHOLD = 0.125, 0.5


def lif(threshold=1.0):
    return neuron.LIFNode(tau=2.0, v_threshold=threshold, detach_reset=True)


def convolution(inputs, outputs):
    """Currents into spikes: [S, C, 8, 8] -> [S, D, 8, 8]."""
    conv = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs), lif())


class TokenLayer(nn.Module):
    """The same weights for each token: [S, N, D] -> spikes [S, N, E]."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, bias=False)
        self.norm = nn.BatchNorm1d(outputs)
        self.lif = lif()

    def forward(self, x):
        currents = self.norm(self.linear(x).transpose(1, 2))
        return self.lif(currents.transpose(1, 2))


class SelfAttention(nn.Module):
    """Spiking self-attention, section 3.3 of the paper: [S, N, D] -> spikes [S, N, D]."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (TokenLayer(dim, dim) for _ in range(3))
        self.attended = lif(ATTENTION_THRESHOLD)
        self.project = TokenLayer(dim, dim)

    def forward(self, x):
        query, key, value = (
            part(x).unflatten(2, (self.heads, -1)).transpose(1, 2)  # [S, H, N, D / H]
            for part in (self.query, self.key, self.value)
        )
        mixed = query @ key.transpose(2, 3) @ value * ATTENTION_SCALE
        return self.project(self.attended(mixed.transpose(1, 2).flatten(2)))


class Block(nn.Module):
    """Attention and two layers for each token, each added to its input."""

    def __init__(self, dim, heads):
        super().__init__()
        self.attention = SelfAttention(dim, heads)
        self.mlp = nn.Sequential(TokenLayer(dim, 4 * dim), TokenLayer(4 * dim, dim))

    def forward(self, x):
        x = x + self.attention(x)
        return x + self.mlp(x)


class Spikformer(nn.Module):
    def __init__(self, T=4, dim=64, depth=2, heads=4):
        super().__init__()
        self.T = T
        self.stem = nn.Sequential(convolution(25, dim // 2), convolution(dim // 2, dim))
        self.position = convolution(dim, dim)
        self.blocks = nn.Sequential(*(Block(dim, heads) for _ in range(depth)))
        self.policy = nn.Linear(dim, 73)  # a move plane for each square
        self.wdl = nn.Linear(dim, 3)

    def forward(self, x):
        functional.reset_net(self)
        policy, wdl = zip(*(self.step(x) for _ in range(self.T)), strict=True)
        return torch.stack(policy), torch.stack(wdl)

    def step(self, x):
        squares = self.stem(x)
        squares = squares + self.position(squares)
        tokens = self.blocks(squares.flatten(2).transpose(1, 2))
        moves = self.policy(tokens).transpose(1, 2).flatten(1)  # plane * 64 + square
        return moves, self.wdl(tokens.mean(1))
