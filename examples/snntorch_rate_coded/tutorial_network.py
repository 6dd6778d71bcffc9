"""A convolutional network in the manner of snntorch's tutorials; it knows nothing of vecchess.

Three layers of 64, 128 and 256 channels, 16 time steps; the inputs are a constant current, the
outputs read the rates of the last layer's spikes, over the board at each step and then over the
steps.
"""

import snntorch as snn
import torch
from torch import nn


class TutorialNetwork(nn.Module):
    def __init__(self, num_steps=16, beta=0.9):
        super().__init__()
        self.num_steps = num_steps
        self.conv1 = nn.Conv2d(25, 64, 3, padding=1)
        self.lif1 = snn.Leaky(beta=beta)
        self.conv2 = nn.Conv2d(64, 128, 3, padding=1)
        self.lif2 = snn.Leaky(beta=beta)
        self.conv3 = nn.Conv2d(128, 256, 3, padding=1)
        self.lif3 = snn.Leaky(beta=beta)
        self.policy = nn.Linear(256, 4672)
        self.wdl = nn.Linear(256, 3)

    def forward(self, x):
        mem1 = self.lif1.init_leaky()
        mem2 = self.lif2.init_leaky()
        mem3 = self.lif3.init_leaky()
        policy_rec, wdl_rec = [], []
        for _ in range(self.num_steps):
            spk1, mem1 = self.lif1(self.conv1(x), mem1)
            spk2, mem2 = self.lif2(self.conv2(spk1), mem2)
            spk3, mem3 = self.lif3(self.conv3(spk2), mem3)
            rate = spk3.mean((2, 3))
            policy_rec.append(self.policy(rate))
            wdl_rec.append(self.wdl(rate))
        return torch.stack(policy_rec), torch.stack(wdl_rec)
