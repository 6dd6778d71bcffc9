"""Settings of training: the loop, its objective, the optimiser, the network's two phases."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from vecchess.config.game_settings import GameConfig
from vecchess.config.selfplay_settings import PlayConfig
from vecchess.config.settings import OnResume, Settings

ON_POLICY = ("ppo", "reinforce")
"""Objectives that learn from the newest games alone, and from the moves as they were drawn."""
_AS_DRAWN: dict[str, Any] = {"mirror": False, "optimiser": {"ema": 0.0, "lr": 4e-3}}
"""Moves are learnt as the newest weights drew them."""
OBJECTIVE_DEFAULTS: dict[str, dict[str, Any]] = {
    "alphazero": {
        "tree": {"search": "gumbel", "sims": 16, "considered": 8, "c_scale": 1.0},  # decision 346
        "game": {"temperature": "1.0,30:0.5"},  # later random moves drown the result
    },
    "supervised": {"loss": {"root_value_share": 1.0}},
    "ppo": {"samples_per_position": 3.0, **_AS_DRAWN},
    "reinforce": {"samples_per_position": 1.0, **_AS_DRAWN},
}
"""Objective -> defaults that differ from those of the fields."""


class TrainGameConfig(GameConfig):
    """Settings of the games of training."""

    max_plies: Annotated[int, Field(ge=1, le=8192)] = 160
    """Games are drawn at this number of plies; see ``capped_lead``. Longer games of weak networks
    end in bare kings, shorter ones without a mate, and both teach less."""


class LossConfig(Settings):
    """Settings of the loss."""

    value_weight: Annotated[float, Field(ge=0, le=100)] = 1.0
    """Weight of the value's cross-entropy against the policy's loss."""
    root_value_share: Annotated[float, Field(ge=0, le=1)] = 0.25
    """Share of the position's recorded win/draw/loss in the value target; the rest is what followed
    in the game, up to a random move, see ``td_lambda`` (alphazero, supervised)."""
    td_lambda: Annotated[float, Field(ge=0, le=1)] = 0.99
    """Lambda of what followed: 1 takes the game's result, 0 the next recorded value, TD(lambda)
    (alphazero, supervised)."""
    capped_lead: Annotated[int, Field(ge=0, le=100)] = 3
    """Pawns by which a side must be ahead when a game reaches ``max_plies``, for it to teach a
    win; 0: it teaches a draw, as it is recorded."""
    material_share: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Share of material's worth in the values that returns and advantages are made of; the rest is
    the network's value (ppo, reinforce)."""
    entropy_bonus: Annotated[float, Field(ge=0, le=10)] = 0.01
    """Weight of the policy's entropy (ppo, reinforce)."""
    clip: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """PPO: the probability ratio counts from 1 - clip to 1 + clip (Schulman et al. 2017)."""
    gae_lambda: Annotated[float, Field(ge=0, le=1)] = 0.9
    """Lambda of the advantage and of the value's target; 1 takes the game's result (ppo,
    reinforce)."""
    step_weights: Literal["uniform", "last", "late", "early"] = "uniform"
    """Weights of the time steps in the loss: all alike (TET, Deng et al. 2022), the last alone,
    growing as 1 .. T, or shrinking as T .. 1."""
    random_steps: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of the run in which the number of time steps of each batch is drawn from 1 to T, later
    on it is T: fewer steps take less time (alphazero, supervised)."""
    spike_penalty: Annotated[float, Field(ge=0, le=100)] = 0.0
    """Weight of the spike rate of a layer that is above ``spike_target``."""
    spike_target: Annotated[float, Field(ge=0, le=1)] = 0.08
    """Spikes per neuron and time step that cost nothing."""


class OptimiserConfig(Settings):
    """Settings of the optimiser, AdamW (Loshchilov & Hutter 2019)."""

    lr: Annotated[float, Field(gt=0, le=10)] = 8e-3
    """Learning rate after the warm-up."""
    value_lr: Annotated[float, Field(ge=0, le=10)] = 0.0
    """Learning rate of the value head; 0: the same."""
    lr_schedule: Literal["constant", "cosine"] = "cosine"
    """"cosine" falls to ``lr_final`` over the run. A run that is resumed with other ``iterations``
    before its end goes on from the rate that it has, after its end it begins anew at ``lr``; either
    falls to ``lr_final`` at the new end."""
    lr_final: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Share of the learning rate at the end of a cosine."""
    warmup: Annotated[float, Field(ge=0, le=1)] = 0.01
    """Share of the run over which the learning rate rises from 0, at its start and after the
    fold."""
    weight_decay: Annotated[float, Field(ge=0, le=1)] = 0.02
    """Weight decay of the weights, not of biases and gains; times the learning rate an update."""
    clip_norm: Annotated[float, Field(ge=0, le=1e6)] = 1.0
    """Norm to which longer gradients are shortened; 0: never."""
    ema: Annotated[float, Field(ge=0, lt=1)] = 0.999
    """Decay an update of the average of the weights, which is what plays, is evaluated and
    published; (1 + n) / (10 + n) after n updates as long as that is less; 0: no average. Always 0
    with ppo and reinforce."""


class TrainConfig(PlayConfig):
    """Settings of ``vecchess train``."""

    objective: Annotated[Literal["alphazero", "ppo", "reinforce", "supervised"], OnResume.FIXED] = (
        "alphazero"
    )
    """What is learnt. "alphazero" learns the results of searches, "ppo" and "reinforce" learn from
    games whose moves are drawn from the policy, "supervised" from recorded games."""
    net: Annotated[str, OnResume.FIXED] = "tiny"
    """tiny, small, base, large, sizes (.toml), or a network to continue from: a file, default; or a
    module of your own, "module:package.module:make", see docs/own-network.md."""
    history: Annotated[Annotated[int, Field(ge=1, le=8)] | None, OnResume.FIXED] = None
    """Positions of the game that a new network sees, the newest included. Without it the number in
    its file of sizes, 1 for a preset."""
    tactical: Annotated[bool | None, OnResume.FIXED] = None
    """A new network sees tactical planes: attacks, pins, checks, hanging pieces. Without it as its
    file of sizes says, and it does where that says nothing."""
    move_inputs: Annotated[bool | None, OnResume.FIXED] = None
    """The network reads of each move what it takes, what hangs afterwards, and checks; one that
    --net or --init-from names learns to. Without it as its file says, else not."""
    init_from: Annotated[Path | None, OnResume.FIXED] = None
    """Network file or checkpoint whose weights the run starts with."""
    iterations: Annotated[int, Field(ge=1, le=1 << 21)] = 10
    """Training iterations. Supervised learning reports once in each."""
    positions_per_iter: Annotated[int, Field(ge=1, le=1 << 40), OnResume.FIXED] = 19_200
    """Positions played in an iteration; an equal number by each seat."""
    seats: Annotated[int, Field(ge=0, le=1 << 30), OnResume.FIXED] = 0
    """Games in progress; 0: one for every 200 positions of an iteration. Unfinished games go on in
    the next iteration. Twice the slots of all devices keeps them busy."""
    lag: Annotated[int, Field(ge=0, le=1), OnResume.FIXED] = 0
    """1: an iteration is played while the one before is learnt, with the network from before that;
    0: playing and learning take turns (ppo and reinforce always do)."""
    data: Annotated[tuple[Path, ...], OnResume.FIXED] = ()
    """Recorded games: PGN files, runs, folders of shards; repeatable. Supervised learning uses them
    alone, AlphaZero its own games as well."""
    data_share: Annotated[float, Field(gt=0, lt=1), OnResume.FIXED] = 0.25
    """AlphaZero with --data: share of recorded games in a batch."""
    epochs: Annotated[int, Field(ge=1, le=1000)] = 1
    """Supervised: number of times each position is used."""
    holdout: Annotated[float, Field(ge=0, le=0.5), OnResume.FIXED] = 0.02
    """Supervised: share of the positions, the last games of each place, kept to test on."""
    batch_size: Annotated[int, Field(ge=1, le=1 << 20)] = 256
    """Samples of an update, on all ranks together."""
    micro_batch: Annotated[int, Field(ge=0, le=1 << 20)] = 0
    """Samples computed at a time; 0: an eighth of a batch, from 128 to 256, or a quarter of a small
    one. Ranks share a batch in parts of so many, by their speed; ranks beyond the parts have none.
    Halved where memory is short."""
    samples_per_position: Annotated[float, Field(gt=0, le=1000)] = 1.5
    """Samples used for each new position. Below 1, PPO and REINFORCE leave some out: the same
    number of samples from more games, which differ more."""
    window_positions: Annotated[int, Field(ge=1000)] = 100_000
    """AlphaZero: positions in the replay window at first. It grows as a power law."""
    loaders: Annotated[int, Field(ge=0, le=64)] = 1
    """Threads that make batches ahead, per rank; 0: none, the rank waits for each batch."""
    mirror: bool = True
    """Use mirror images, left and right exchanged, where no side may castle; never with ppo and
    reinforce."""
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    """Precision of the first phase. Sums of quantised weights are exact in each. bf16 is for
    gradients of the second phase too; on a processor for gradients alone, where it has
    AVX512-BF16."""
    surrogate: str = "atan"
    """Surrogate gradient of a spike, by name."""
    fold_at: Annotated[float, Field(ge=0, le=1)] = 0.9
    """Share of the run after which weights are int8. Batch norm is folded at the same time."""
    checkpoint_every: Annotated[int, Field(ge=1)] = 1
    """Iterations between checkpoints."""
    keep_checkpoints: Annotated[int, Field(ge=1)] = 3
    """Number of newest checkpoints that are kept."""
    keep_every: Annotated[int, Field(ge=0)] = 0
    """Every N-th iteration's checkpoint is kept for good; 0: none."""
    eval_every: Annotated[int, Field(ge=0)] = 5
    """Iterations between matches against ``random`` and ``greedy``; 0: none."""
    eval_games: Annotated[int, Field(ge=2, multiple_of=2)] = 100
    """Games of such a match, an even number."""
    gate: str = ""
    """Test "elo0,elo1,alpha,beta" of a match against the network before; "": publish all. A network
    is published when the test accepts it."""
    gate_games: Annotated[int, Field(ge=2, multiple_of=2)] = 400
    """Games of the test, at most. A network that is undecided after them is refused."""
    log_every: Annotated[int, Field(ge=1)] = 10
    """Updates that are averaged in a line of metrics.jsonl."""
    rank_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 45.0
    """Seconds without a heartbeat of a rank after which the run ends."""
    nnodes: Annotated[int, Field(ge=1, le=4096)] = 1
    """Number of machines."""
    node_rank: Annotated[int, Field(ge=0, le=4095)] = 0
    """Number of this machine, from 0."""
    master_addr: str = ""
    """Address of machine 0."""
    master_port: Annotated[int, Field(ge=0, le=65535)] = 0
    """Port of machine 0; 0: a free one, on one machine."""
    loss: LossConfig = Field(default_factory=LossConfig)
    """Settings of the loss."""
    optimiser: OptimiserConfig = Field(default_factory=OptimiserConfig)
    """Settings of the optimiser."""
    game: Annotated[TrainGameConfig, OnResume.FIXED] = Field(default_factory=TrainGameConfig)
    """Settings that decide the moves."""

    @model_validator(mode="before")
    @classmethod
    def _suits_the_objective(cls, values: object) -> object:
        """Fill in ``OBJECTIVE_DEFAULTS``: AlphaZero searches, PPO uses each sample 3 times."""
        if not isinstance(values, dict):
            return values
        objective, tree = values.get("objective", "alphazero"), values.get("tree") or {}
        if objective == "alphazero" and isinstance(tree, dict) and tree.get("search") == "none":
            raise ValueError('alphazero learns from searches: --search "gumbel" or "puct"')
        for name, default in OBJECTIVE_DEFAULTS.get(str(objective), {}).items():
            given = values.get(name)
            if isinstance(default, dict) and isinstance(given, dict | None):
                values = values | {name: default | (given or {})}
            elif given is None:
                values = values | {name: default}
        return values

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.objective == "supervised" and not self.data:
            raise ValueError("supervised learns from recorded games: --data FILE or RUN")
        if self.node_rank >= self.nnodes:
            raise ValueError(f"node_rank must be below nnodes = {self.nnodes}")
        if self.nnodes > 1 and not self.master_addr:
            raise ValueError("nnodes above 1 needs master_addr, the address of machine 0")
        return self

    @model_validator(mode="after")
    def _learns_as_drawn(self) -> Self:
        """Refuse what would make an on-policy objective learn other moves than were drawn, or from
        another policy than the newest (decision 222)."""
        drawn_as_is = self.game.temperature in ("1", "1.0")
        refusals = (
            (self.tree.search != "none", 'learns from drawn moves: --search "none"'),
            (not drawn_as_is, "needs temperature 1: moves drawn as the policy says"),
            (self.gate, "learns from its newest network's games: no --gate"),
            (self.lag, "learns from its newest network's games: lag = 0"),
            (self.data, "learns from its own games alone: no --data"),
            (self.mirror, "needs the probability of a move in its own position: mirror = false"),
            (self.loss.random_steps, "learns at the step that drew a move: random_steps = 0"),
            (self.optimiser.ema > 0, "plays with the weights that learn: ema = 0"),
        )
        for is_wrong, reason in refusals:
            if self.is_on_policy and is_wrong:
                raise ValueError(f"{self.objective} {reason}")
        return self

    @property
    def may_go_back(self) -> bool:
        """Whether games of others are checked: the training may have to go back to before them."""
        return self.executor != "local" and self.verify_share > 0

    @property
    def trace(self) -> float:
        """Lambda of the returns in the samples."""
        return self.loss.gae_lambda if self.is_on_policy else self.loss.td_lambda

    @property
    def is_on_policy(self) -> bool:
        """Whether only the newest games are learnt from."""
        return self.objective in ON_POLICY
