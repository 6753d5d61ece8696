"""Which iterations does a text, an int, a range or a list select?"""
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_npu_dump.config.steps import MAX_STEP, StepSet
from keras_npu_dump.errors import ConfigError


@pytest.mark.parametrize("text, inside, outside", [
    ("0", [0], [1]),
    ("0|5|10", [0, 5, 10], [1, 4, 6, 11]),
    ("0|3-5|10", [0, 3, 4, 5, 10], [1, 2, 6, 9]),
    ("10|0", [0, 10], [5]),
    (str(MAX_STEP), [MAX_STEP], [0]),
    ("007", [7], [0]),
])
def test_the_vendors_grammar(text, inside, outside):
    steps = StepSet.parse(text)
    assert all(index in steps for index in inside)
    assert not any(index in steps for index in outside)
    assert steps.text == text
    assert list(steps) == sorted(inside)
    assert len(steps) == len(inside)


@pytest.mark.parametrize("text, part", [
    ("", "None or 'all'"),
    ("a", "items like 5"),
    ("3-3", "write '3'"),
    ("5-3", "Did you mean '3-5'"),
    ("1-2-3", "items like 5"),
    ("-1", "items like 5"),
    ("5-", "items like 5"),
    ("0||5", "items like 5"),
    ("0|", "items like 5"),
    (" 1", "blanks"),
    ("1 |2", "blanks"),
    ("0,5", "not with commas"),
    ("2147483648", "from 0 to 2147483647"),
    ("0-2147483648", "from 0 to 2147483647"),
    ("\u0663", "items like 5"),
    ("+1", "items like 5"),
    ("|".join(str(2 * i) for i in range(101)), "at most 100 items"),
    ("|".join(str(i) for i in range(101)), "Shorter and the same: '0-100'"),
    ("ALL", "items like 5"),
])
def test_what_ge_would_reject_is_rejected_at_once(text, part):
    with pytest.raises(ConfigError) as error:
        StepSet.parse(text)
    assert part in str(error.value)
    assert "expected" in str(error.value) and "Received" in str(error.value)


def test_a_hundred_items_are_the_limit():
    assert len(StepSet.parse("|".join(str(2 * i) for i in range(100)))) == 100


@pytest.mark.parametrize("value, text", [
    (5, "5"),
    (range(3, 6), "3-5"),
    (range(5, 2, -1), "3-5"),
    (range(0, 50, 10), "0|10|20|30|40"),
    ([0, 5, 10], "0|5|10"),
    ((0, range(3, 6), 10), "0|3-5|10"),
    ({7}, "7"),
    (iter([1, 2]), "1|2"),
    (range(0, 10 ** 6), "0-999999"),
    (list(range(101)), "0-100"),
    ("0|3-5", "0|3-5"),
])
def test_from_python_values(value, text):
    assert StepSet.of(value).text == text


@pytest.mark.parametrize("value", [None, "all"])
def test_every_iteration_is_a_deliberate_choice(value):
    steps = StepSet.of(value)
    assert steps.is_all and steps.text == "" and str(steps) == "all"
    assert 0 in steps and 10 ** 12 in steps
    assert steps.next_from(17) == 17
    with pytest.raises(TypeError):
        len(steps)


@pytest.mark.parametrize("value", [
    True, -1, 1.5, [], "", range(0), [[1]], ["1"], [True], [0.5], object(), MAX_STEP + 1,
    range(0, 202, 2), range(0, 10 ** 9, 2), b"1", {"a": 1},
])
def test_what_is_no_set_of_iterations(value):
    with pytest.raises(ConfigError):
        StepSet.of(value)


def test_an_endless_iterable_ends():
    with pytest.raises(ConfigError):
        StepSet.of(itertools.count(0))


def test_next_from_skips_to_the_next_selected_one():
    steps = StepSet.parse("3-5|10")
    assert [steps.next_from(i) for i in (0, 3, 5, 6, 10, 11)] == [3, 3, 5, 10, 10, None]


def test_what_was_asked_and_never_came():
    steps = StepSet.parse("0|3-5|10|20-30")
    assert steps.unreached(4) == ["steps 4-5", "step 10", "steps 20-30"]
    assert steps.unreached(30) == ["step 30"]
    assert steps.unreached(31) == StepSet.all().unreached(0) == []


@given(st.sets(st.integers(0, 60), min_size=1))
def test_writing_and_reading_again_selects_the_same(numbers):
    steps = StepSet.of(numbers)
    assert set(steps) == numbers
    assert StepSet.parse(steps.text) == steps
    assert hash(StepSet.parse(steps.text)) == hash(steps)
