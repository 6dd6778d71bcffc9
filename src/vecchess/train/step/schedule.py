"""The learning rate over a run: a warm-up, then a cosine (decision 223).

Time is counted in iterations, an update being a part of its iteration. A schedule is pinned with
the run: one that is resumed with another number of iterations goes on from the rate it has.
"""

from dataclasses import dataclass, replace
from math import cos, pi

from vecchess.config import OptimiserConfig


@dataclass(frozen=True)
class Schedule:
    """Shares of the learning rate, as a function of the iterations done."""

    begin: float
    """Iterations done where the cosine begins,"""
    share: float
    """its share of the learning rate there,"""
    end: float
    """and the iterations at which it has fallen to ``lr_final``: those of the run."""
    warm_from: float
    """Iterations done where the optimiser was new."""
    warm_until: float
    """From here on there is no warm-up."""

    @classmethod
    def of_run(cls, config: OptimiserConfig, iterations: int) -> "Schedule":
        """The schedule of a new run."""
        return cls(0.0, 1.0, iterations, 0.0, config.warmup * iterations)

    def warmed_up_again(self, config: OptimiserConfig, done: float) -> "Schedule":
        """The same with a warm-up from ``done`` on, for a new optimiser."""
        return replace(self, warm_from=done, warm_until=done + config.warmup * self.end)

    def ended_at(self, config: OptimiserConfig, iterations: int, done: float) -> "Schedule":
        """The schedule of a run that is to have ``iterations``: unchanged where it has, else a
        cosine from the rate at ``done``."""
        if iterations == self.end:
            return self
        return replace(self, begin=done, share=self._cosine(config, done), end=iterations)

    def rate(self, config: OptimiserConfig, done: float) -> float:
        """Share of the learning rate for the update after which ``done`` iterations are done."""
        warm = 1.0
        if done < self.warm_until:
            warm = (done - self.warm_from) / (self.warm_until - self.warm_from)
        return warm * self._cosine(config, done)

    def _cosine(self, config: OptimiserConfig, done: float) -> float:
        if config.lr_schedule == "constant":
            return 1.0
        part = (done - self.begin) / max(self.end - self.begin, 1e-9)
        fall = (1 + cos(pi * min(max(part, 0.0), 1.0))) / 2
        return config.lr_final + (self.share - config.lr_final) * fall
