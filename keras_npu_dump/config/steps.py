"""StepSet: which executions are dumped, in the vendor's grammar `0|3-5|10`.

The rules are those that GE applies when its session starts
(ge, base/common/dump/dump_properties.cc): at most 100 items between `|`, each
either digits or `a-b` with a < b, every number within int32, no blanks and
nothing empty. GE reports a breach only at the first graph; here it is a
`ConfigError` at once.
"""
import operator
import os
from typing import Any, Iterable, Iterator, List, Optional, Tuple, Union

from keras_npu_dump.errors import ConfigError

MAX_ITEMS = 100
MAX_STEP = 2 ** 31 - 1
# An iterable longer than this is a mistake (or endless), not a choice of steps.
_MAX_ITERABLE = 1000000

Interval = Tuple[int, int]
# What a user may give for a folder, and for dump_step.
PathLike = Union[str, "os.PathLike[str]"]
StepsLike = Union[str, int, range, "StepSet", Iterable[Union[int, range]], None]


def _fail(expected: str, received: Any, hint: str = "") -> ConfigError:
    return ConfigError("dump_step: expected %s. Received: %r.%s"
                       % (expected, received, " " + hint if hint else ""))


class StepSet:
    """An immutable set of executions (data_index, counted from 0).

    Attributes:
      text: what GE is given, `"0|3-5|10"`; the empty string selects every execution.
      is_all: True if every execution is selected.
    """

    __slots__ = ("_intervals", "text")

    def __init__(self, text: str, intervals: Optional[List[Interval]]):
        self.text = text
        self._intervals = None if intervals is None else merge(intervals)

    @classmethod
    def all(cls) -> "StepSet":
        """Every execution."""
        return cls("", None)

    @classmethod
    def parse(cls, text: str) -> "StepSet":
        """Reads `"0|3-5|10"` or `"all"`.

        Args:
          text: in the vendor's grammar.

        Raises:
          ConfigError: where GE would refuse the text, or it is empty.
        """
        if text == "all":
            return cls.all()
        if not text:
            raise _fail("iterations such as '0|3-5|10'", text,
                        "For every iteration say None or 'all'.")
        items = text.split("|")
        intervals = [_parse_item(item, text) for item in items]
        if len(items) > MAX_ITEMS:
            short = _format(merge(intervals))
            hint = ("Shorter and the same: '%s'." % short if short.count("|") < MAX_ITEMS
                    else "Use ranges, or fewer iterations.")
            raise _fail("at most %d items between '|'" % MAX_ITEMS,
                        "%d items" % len(items), hint)
        return cls(text, intervals)

    @classmethod
    def of(cls, value: Any) -> "StepSet":
        """Makes a StepSet of what a user may give.

        Args:
          value: a text in the vendor's grammar, an int, a range, an iterable of
            ints and ranges, or None or `"all"` for every execution.

        Raises:
          ConfigError: for anything else, and where GE would refuse the result.
        """
        if value is None:
            return cls.all()
        if isinstance(value, StepSet):
            return value
        if isinstance(value, str):
            return cls.parse(value)
        if isinstance(value, bool):
            raise _fail("iterations such as '0|3-5|10', an int, a range or a list of them", value)
        intervals = list(_intervals_of(value, value))
        if not intervals:
            raise _fail("at least one iteration", value, "For every iteration say None or 'all'.")
        if len(intervals) > MAX_ITEMS:
            intervals = merge(intervals)
        if len(intervals) > MAX_ITEMS:
            raise _fail("at most %d iterations or ranges" % MAX_ITEMS,
                        "%d that do not join into ranges" % len(intervals))
        return cls(_format(intervals), intervals)

    @property
    def is_all(self) -> bool:
        """Whether every execution is selected."""
        return self._intervals is None

    @property
    def last(self) -> Optional[int]:
        """The highest selected execution; None if all are."""
        return None if self._intervals is None else self._intervals[-1][1]

    @property
    def intervals(self) -> List[Interval]:
        """Sorted, disjoint and inclusive (first, last); empty if all executions are selected."""
        return list(self._intervals or ())

    def next_from(self, index: int) -> Optional[int]:
        """The lowest selected execution that is not below `index`, or None.

        Args:
          index: a data_index, from 0.
        """
        if self._intervals is None:
            return index
        for first, last in self._intervals:
            if index <= last:
                return max(first, index)
        return None

    def unreached(self, executions: int) -> List[str]:
        """What is selected and never ran, in words: "step 10", "steps 20-30".

        Args:
          executions: how many ran.
        """
        beyond = [(max(first, executions), last) for first, last in self._intervals or ()
                  if last >= executions]
        return ["step %d" % first if first == last else "steps %d-%d" % (first, last)
                for first, last in beyond]

    def __contains__(self, index: Any) -> bool:
        if self._intervals is None:
            return True
        return any(first <= index <= last for first, last in self._intervals)

    def __iter__(self) -> Iterator[int]:
        if self._intervals is None:
            raise TypeError("every execution is selected: there is no list of them")
        for first, last in self._intervals:
            yield from range(first, last + 1)

    def __len__(self) -> int:
        if self._intervals is None:
            raise TypeError("every execution is selected: they have no number")
        return sum(last - first + 1 for first, last in self._intervals)

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, StepSet) and self._intervals == other._intervals

    def __hash__(self) -> int:
        return hash(None if self._intervals is None else tuple(self._intervals))

    def __str__(self) -> str:
        return self.text or "all"

    def __repr__(self) -> str:
        return "StepSet(%r)" % str(self)


def _parse_item(item: str, text: str) -> Interval:
    parts = item.split("-")
    # str.isdigit alone accepts digits of other scripts, which GE does not.
    if len(parts) > 2 or not all(part.isascii() and part.isdigit() for part in parts):
        hint = ""
        if "," in text:
            hint = "Separate iterations with '|', not with commas."
        elif any(character.isspace() for character in text):
            hint = "Leave out the blanks."
        raise _fail("items like 5 or 3-5 between '|'", text, hint)
    numbers = [_check_number(int(part), text) for part in parts]
    if len(numbers) == 2 and numbers[0] >= numbers[1]:
        hint = ("For one iteration write '%d'." % numbers[0] if numbers[0] == numbers[1]
                else "Did you mean '%d-%d'?" % (numbers[1], numbers[0]))
        raise _fail("a range a-b with a < b", item, hint)
    return numbers[0], numbers[-1]


def _check_number(number: int, received: Any) -> int:
    if not 0 <= number <= MAX_STEP:
        raise _fail("iterations from 0 to %d" % MAX_STEP, received)
    return number


def _intervals_of(value: Any, received: Any, depth: int = 0) -> Iterator[Interval]:
    if isinstance(value, range):
        if not value:
            return
        low, high = min(value[0], value[-1]), max(value[0], value[-1])
        _check_number(low, received)
        _check_number(high, received)
        if abs(value.step) == 1:
            yield low, high
            return
        if len(value) > _MAX_ITERABLE:
            raise _fail("at most %d iterations or ranges" % MAX_ITEMS, received)
        for number in sorted(value):
            yield number, number
        return
    if not isinstance(value, (str, bytes, bool)):
        try:
            number = operator.index(value)
        except TypeError:
            pass
        else:
            _check_number(number, received)
            yield number, number
            return
    if depth or isinstance(value, (str, bytes, bool)) or not isinstance(value, Iterable):
        raise _fail("ints and ranges", received)
    for count, item in enumerate(value):
        if count >= _MAX_ITERABLE:
            raise _fail("at most %d iterations or ranges" % MAX_ITEMS,
                        "an iterable of more than %d" % _MAX_ITERABLE)
        yield from _intervals_of(item, received, depth + 1)


def merge(intervals: Iterable[Interval]) -> List[Interval]:
    """Intervals sorted and disjoint, neighbours joined.

    Args:
      intervals: inclusive (first, last), in any order.
    """
    merged: List[Interval] = []
    for first, last in sorted(intervals):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def items_of(intervals: Iterable[Interval]) -> List[str]:
    """[(3, 5), (8, 8)] -> ["3-5", "8"], the items of a dump_step."""
    return [str(a) if a == b else "%d-%d" % (a, b) for a, b in intervals]


def _format(intervals: List[Interval]) -> str:
    return "|".join(items_of(intervals))
