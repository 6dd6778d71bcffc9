"""An LSTM that reads the last eight positions of the game, the oldest first, one at each time step.

vecchess selfplay --net "module:examples.lstm_history.network:make?hidden=256"

Its answer is that of the last step: after the newest position. The number of the step is a part of
the state, because the positions of a batch are at different steps.
"""

import torch
from torch import nn

HISTORY, MEN = 8, 12
NEWEST = 25
"""Planes of the newest position, of which the first 12 are its pieces."""


class LstmPolicy(nn.Module):
    time_steps = HISTORY
    num_planes = NEWEST + MEN * (HISTORY - 1)
    readout = "last"

    def __init__(self, hidden):
        super().__init__()
        self.hidden = hidden
        self.cell = nn.LSTMCell(MEN * 64, hidden)
        self.newest = nn.Linear(NEWEST * 64, hidden)
        self.policy = nn.Linear(2 * hidden, 4672)
        self.wdl = nn.Linear(2 * hidden, 3)

    def initial_state(self, num_slots):
        device = self.policy.weight.device
        step = torch.zeros(num_slots, dtype=torch.long, device=device)
        memory = torch.zeros(num_slots, self.hidden, device=device)
        return step, memory, memory

    def forward(self, planes, state):
        step, hidden, cell = state
        newest, men = planes[:, :NEWEST], planes[:, NEWEST:].unflatten(1, (HISTORY - 1, MEN))
        men = torch.cat([newest[:, None, :MEN], men], dim=1)  # [S, 8, 12, 8, 8], the newest first
        now = men[torch.arange(len(step), device=step.device), HISTORY - 1 - step]
        hidden, cell = self.cell(now.flatten(1), (hidden, cell))
        seen = torch.cat([hidden, torch.relu(self.newest(newest.flatten(1)))], dim=1)
        return self.policy(seen), self.wdl(seen), (step + 1, hidden, cell)


def make(hidden="128"):
    return LstmPolicy(int(hidden))
