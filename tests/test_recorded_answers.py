"""Every method answers what it has always answered, on a third of the matrices of `recorded_answers`."""

import pytest

import recorded_answers
import sepnmf

STORED = recorded_answers.stored_record()


QUICK = 3  # groups; all others are slow


@pytest.mark.parametrize(
    "group",
    [pytest.param(k, marks=pytest.mark.slow if k >= QUICK else ()) for k in range(recorded_answers.GROUPS)],
)
def test_answers_are_those_recorded(group):
    lines = []
    for number in recorded_answers.tested(group):
        found = {call.label: one for call, one, _ in recorded_answers.run(number)}
        lines += recorded_answers.differences(number, STORED, found)
    assert not lines, "\n".join(lines)


def test_every_method_is_recorded():
    assert set(recorded_answers.METHODS) == {name.replace("-", "_") for name in sepnmf.METHODS}
