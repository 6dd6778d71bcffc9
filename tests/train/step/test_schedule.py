"""The learning rate over a run, at its fold, and where it is extended."""

import pytest

from vecchess.config import OptimiserConfig
from vecchess.train.step.optimiser import Schedule

CONFIG = OptimiserConfig(warmup=0.1, lr_final=0.1)
RUN = Schedule.of_run(CONFIG, 10)


def test_a_warm_up_and_a_cosine() -> None:
    assert RUN.rate(CONFIG, 0.25) == pytest.approx(0.25, rel=0.01)
    assert RUN.rate(CONFIG, 5.0) == pytest.approx(0.55)
    assert RUN.rate(CONFIG, 10.0) == RUN.rate(CONFIG, 12.0) == pytest.approx(0.1)
    constant = CONFIG.model_copy(update={"lr_schedule": "constant"})
    assert RUN.rate(constant, 9.0) == 1
    none = CONFIG.model_copy(update={"warmup": 0.0})
    assert Schedule.of_run(none, 10).rate(none, 1e-9) == pytest.approx(1)


def test_a_new_optimiser_warms_up_again() -> None:
    folded = RUN.warmed_up_again(CONFIG, 7.0)
    assert folded.rate(CONFIG, 7.01) == pytest.approx(0.01 * RUN.rate(CONFIG, 7.01))
    assert folded.rate(CONFIG, 7.5) == pytest.approx(0.5 * RUN.rate(CONFIG, 7.5))
    assert folded.rate(CONFIG, 8.0) == RUN.rate(CONFIG, 8.0)


@pytest.mark.parametrize("done", [0.5, 3.0, 9.3])
@pytest.mark.parametrize("iterations", [11, 20, 1000])
def test_more_iterations_go_on_from_the_rate_that_is(done: float, iterations: int) -> None:
    longer = RUN.ended_at(CONFIG, iterations, done)
    assert longer.rate(CONFIG, done) == RUN.rate(CONFIG, done)
    rest = [longer.rate(CONFIG, max(done, 1.0) + step) for step in range(iterations)]
    assert rest == sorted(rest, reverse=True)
    assert longer.rate(CONFIG, iterations) == pytest.approx(0.1)
    again = longer.ended_at(CONFIG, iterations, done + 1)
    assert again == longer, "a resume that asks for nothing new changes nothing"


def test_a_run_that_had_ended_begins_at_the_whole_rate() -> None:
    longer = RUN.ended_at(CONFIG, 30, 10.0)
    rates = [longer.rate(CONFIG, done) for done in (10.0, 20.0, 30.0)]
    assert rates == pytest.approx([1.0, 0.55, 0.1])
    assert longer.ended_at(CONFIG, 30, 12.0) == longer


def test_fewer_iterations_fall_sooner() -> None:
    shorter = RUN.ended_at(CONFIG, 5, 4.0)
    assert shorter.rate(CONFIG, 4.0) == RUN.rate(CONFIG, 4.0)
    assert shorter.rate(CONFIG, 5.0) == pytest.approx(0.1)
    assert RUN.ended_at(CONFIG, 4, 4.0).rate(CONFIG, 4.0) in (0.1, RUN.rate(CONFIG, 4.0))
