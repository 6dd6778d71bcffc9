"""A network without time answers after one step, the same in any slot."""

from tests.networks.slots import is_the_same_in_any_slot, served

NET = "module:examples.convolutional.network:make?channels=32&blocks=2"


def test_answers_are_the_same_in_any_slot() -> None:
    assert is_the_same_in_any_slot(NET)


def test_positions_leave_after_one_step() -> None:
    _, wdl, steps = served(NET, 4, list(range(8)), 4)
    assert (steps == 1).all()
    assert wdl.std(0).min() > 0
