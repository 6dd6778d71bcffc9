"""What training is told: the loop, its objective, the optimiser, the network's two phases."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from vecchess.config.selfplay_settings import PlayConfig

ON_POLICY = ("ppo", "reinforce")
"""Objectives that learn from the newest games alone, and from the moves as they were drawn."""

MOST_PLIES = 256
"""Games of training are drawn after so many plies, where nobody says otherwise."""


class LossConfig(BaseModel):
    """What is made small."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    value_weight: Annotated[float, Field(ge=0, le=100)] = 1.0
    """Weight of the value's cross-entropy against the policy's loss."""
    root_value_share: Annotated[float, Field(ge=0, le=1)] = 0.25
    """Share of the recorded win/draw/loss in the value target; the rest is the game's result
    (alphazero, supervised)."""
    entropy_bonus: Annotated[float, Field(ge=0, le=10)] = 0.01
    """Weight of the policy's entropy (ppo, reinforce)."""
    clip: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """PPO: the probability ratio counts from 1 - clip to 1 + clip (Schulman et al. 2017)."""
    gae_lambda: Annotated[float, Field(ge=0, le=1)] = 0.95
    """PPO: lambda of the returns; 1 waits for the game's result."""
    step_weights: Literal["uniform", "last", "late", "early"] = "uniform"
    """How the loss is spread over the time steps: all alike (TET, Deng et al. 2022), on the last
    alone, growing as 1 .. T, or shrinking as T .. 1."""
    random_steps: bool = False
    """Draw the number of time steps of each batch from 1 to T."""
    spike_penalty: Annotated[float, Field(ge=0, le=100)] = 0.1
    """Weight of the spike rate of a layer that is above ``spike_target``."""
    spike_target: Annotated[float, Field(ge=0, le=1)] = 0.08
    """Spikes a neuron and time step that cost nothing."""


class OptimiserConfig(BaseModel):
    """How the weights move: AdamW (Loshchilov & Hutter 2019)."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    lr: Annotated[float, Field(gt=0, le=10)] = 2e-3
    """Learning rate once warmed up."""
    value_lr: Annotated[float, Field(ge=0, le=10)] = 0.0
    """Learning rate of the value head; 0: the same."""
    lr_schedule: Literal["constant", "cosine"] = "cosine"
    """"cosine" falls to ``lr_final`` over the run, after the warm-up."""
    lr_final: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Share of the learning rate that is left at the end of a cosine."""
    warmup_samples: Annotated[int, Field(ge=0)] = 16384
    """Samples over which the learning rate rises to its height."""
    weight_decay: Annotated[float, Field(ge=0, le=1)] = 1e-4
    """Of the weights, not of biases and gains."""
    clip_norm: Annotated[float, Field(ge=0, le=1e6)] = 1.0
    """Gradients longer than this are shortened; 0: never."""


class TrainConfig(PlayConfig):
    """Everything ``vecchess train`` can be told."""

    objective: Literal["alphazero", "ppo", "reinforce", "supervised"] = "alphazero"
    """"alphazero" learns what searches found, "ppo" and "reinforce" from games whose moves are
    drawn from the policy, "supervised" from recorded games."""
    net: str = "tiny"
    """Sizes of the network: a preset, a TOML file of sizes, or a network file to go on with."""
    history: Annotated[int, Field(ge=1, le=8)] | None = None
    """Positions of the game that a new network sees, the newest included; none: what its file says,
    1 for a preset."""
    init_from: Path | None = None
    """Network file or checkpoint whose weights the run starts with."""
    iterations: Annotated[int, Field(ge=1)] = 6
    """Times round the loop; supervised learning reports so often."""
    games_per_iter: Annotated[int, Field(ge=1)] = 96
    """Games played an iteration, on all machines together."""
    data: tuple[Path, ...] = ()
    """Recorded games: PGN files, runs, folders of shards. Supervised learns from them alone,
    AlphaZero from its own games as well."""
    data_share: Annotated[float, Field(gt=0, lt=1)] = 0.25
    """AlphaZero with ``data``: share of each batch that comes from the recorded games."""
    epochs: Annotated[int, Field(ge=1, le=1000)] = 1
    """Supervised: times each position is learnt from."""
    holdout: Annotated[float, Field(ge=0, le=0.5)] = 0.02
    """Supervised: share of the positions, the last games, that are only looked at."""
    batch_size: Annotated[int, Field(ge=1, le=1 << 20)] = 256
    """Samples of an update, on all ranks together."""
    micro_batch: Annotated[int, Field(ge=0, le=1 << 20)] = 0
    """Samples computed at a time on one rank, gradients added up; 0: 256. Halved where memory is
    short."""
    samples_per_position: Annotated[float, Field(gt=0, le=1000)] = 1.5
    """Samples learnt from for each new position, AlphaZero 1.5, PPO 3, REINFORCE 1. Below 1, PPO
    and REINFORCE leave some out: so many samples from more games, which differ more."""
    window_positions: Annotated[int, Field(ge=1000)] = 100_000
    """AlphaZero: positions the replay window holds at first; it grows as a power law."""
    loaders: Annotated[int, Field(ge=0, le=64)] = 1
    """Processes that make batches, per rank; 0 makes them in between."""
    mirror: bool = True
    """Learn from mirror images, left and right exchanged, where nobody may castle."""
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    """Of the first phase; quantised weights are always computed in float32."""
    surrogate: str = "atan"
    """Gradient of a spike, by name."""
    fold_at: Annotated[float, Field(ge=0, le=1)] = 0.7
    """Share of the run after which batch norm is folded and weights are quantised."""
    checkpoint_every: Annotated[int, Field(ge=1)] = 1
    """Iterations between checkpoints."""
    keep_checkpoints: Annotated[int, Field(ge=1)] = 3
    """Newest checkpoints that are kept."""
    keep_every: Annotated[int, Field(ge=0)] = 0
    """Iterations whose checkpoints are kept for good: every so many; 0: none."""
    eval_every: Annotated[int, Field(ge=0)] = 5
    """Iterations between matches against ``random`` and ``greedy``; 0: none."""
    eval_games: Annotated[int, Field(ge=2, multiple_of=2)] = 100
    """Games of such a match."""
    gate: str = ""
    """ "elo0,elo1,alpha,beta": a network is published when this test of a match against the one
    before accepts it; "" publishes all."""
    gate_games: Annotated[int, Field(ge=2, multiple_of=2)] = 400
    """Games of such a match, at most; undecided after them means refused."""
    log_every: Annotated[int, Field(ge=1)] = 10
    """Updates whose means make a line of metrics.jsonl."""
    rank_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 45.0
    """A rank silent for so long ends the run."""
    nnodes: Annotated[int, Field(ge=1, le=4096)] = 1
    """Machines."""
    node_rank: Annotated[int, Field(ge=0, le=4095)] = 0
    """Which of them this is."""
    master_addr: str = ""
    """Address of machine 0."""
    master_port: Annotated[int, Field(ge=0, le=65535)] = 0
    """Port there; 0: a free one, on one machine."""
    loss: LossConfig = Field(default_factory=LossConfig)
    """What is made small."""
    optimiser: OptimiserConfig = Field(default_factory=OptimiserConfig)
    """How the weights move."""

    @model_validator(mode="before")
    @classmethod
    def _suits_the_objective(cls, values: object) -> object:
        """AlphaZero takes Gumbel's search with few simulations, PPO each sample 3 times.

        Games of beginners are cut short: most that go on for so long end in nothing.
        """
        if not isinstance(values, dict):
            return values
        if isinstance(game := values.get("game") or {}, dict):
            values = values | {"game": {"max_plies": MOST_PLIES} | game}
        objective, tree = values.get("objective", "alphazero"), values.get("tree") or {}
        if objective == "alphazero" and isinstance(tree, dict):
            if tree.get("search") == "none":
                raise ValueError('alphazero learns from searches: --search "gumbel" or "puct"')
            return values | {"tree": {"search": "gumbel", "sims": 16} | tree}
        if samples := {"ppo": 3.0, "reinforce": 1.0}.get(str(objective)):
            return {"samples_per_position": samples} | values
        return values

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        searches = self.tree.search != "none"
        if self.objective in ON_POLICY and searches:
            raise ValueError(f'{self.objective} learns from drawn moves: --search "none"')
        if self.objective in ON_POLICY and self.game.temperature not in ("1", "1.0"):
            raise ValueError(
                f"{self.objective} needs temperature 1: moves drawn as the policy says"
            )
        if self.objective in ON_POLICY and self.gate:
            raise ValueError(f"{self.objective} learns from its newest network's games: no --gate")
        if self.objective == "supervised" and not self.data:
            raise ValueError("supervised learns from recorded games: --data FILE or RUN")
        if self.is_on_policy and self.data:
            raise ValueError(f"{self.objective} learns from its own games alone: no --data")
        if self.node_rank >= self.nnodes:
            raise ValueError(f"node_rank must be below nnodes = {self.nnodes}")
        if self.nnodes > 1 and not self.master_addr:
            raise ValueError("nnodes above 1 needs master_addr, the address of machine 0")
        return self

    @property
    def is_on_policy(self) -> bool:
        """True where only the newest games count."""
        return self.objective in ON_POLICY
