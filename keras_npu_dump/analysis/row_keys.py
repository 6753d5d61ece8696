"""Keys of the rows of Columns: operator, turn, input or output, index, in one number.

    bits 40..62   position of the operator in execution order
    bits 20..39   turn: which of its runs in one execution (of a loop's body)
    bit  19       1 for outputs, 0 for inputs
    bits 0..18    index among the inputs or outputs

Ascending keys are the order of execution, and equal graphs give equal keys in every
step and on every rank. Each function takes an int64 array or a Python int, and gives
the same kind back.
"""
from __future__ import annotations

from typing import TypeVar, Union, overload

import numpy as np

Key = TypeVar("Key", int, np.ndarray)

_OP_SHIFT, _TURN_SHIFT, _OUTPUT = 40, 20, 1 << 19
_BELOW_OP = (1 << _OP_SHIFT) - 1
MAX_TURN = (1 << (_OP_SHIFT - _TURN_SHIFT)) - 1
# Positions from here on are free for operators that another rank does not have.
UNKNOWN_OP = 1 << 22


def make_key(op: np.ndarray, turn: np.ndarray, output: np.ndarray,
             index: np.ndarray) -> np.ndarray:
    """int64 keys.

    Args:
      op, turn: positions and turns, integers of any width.
      output: bool.
      index: not negative; what does not fit becomes the largest that does.
    """
    key: np.ndarray = ((op.astype(np.int64) << _OP_SHIFT) | (turn.astype(np.int64) << _TURN_SHIFT)
                       | np.where(output, _OUTPUT, 0) | np.minimum(index, _OUTPUT - 1))
    return key


def op_of(key: Key) -> Key:
    """Position of the operator."""
    return key >> _OP_SHIFT


def turn_of(key: Key) -> Key:
    """Turn of the operator, from 0."""
    return (key >> _TURN_SHIFT) & MAX_TURN


@overload
def is_output(key: int) -> bool: ...
@overload
def is_output(key: np.ndarray) -> np.ndarray: ...
def is_output(key: Union[int, np.ndarray]) -> Union[bool, np.ndarray]:
    """True for outputs."""
    return (key & _OUTPUT) != 0


def index_of(key: Key) -> Key:
    """Index among the inputs or outputs."""
    return key & (_OUTPUT - 1)


def first_key(position: int) -> int:
    """The lowest key that a row of this operator can have."""
    return position << _OP_SHIFT


def with_op(key: int, position: int) -> int:
    """The same row of another operator."""
    return first_key(position) | (key & _BELOW_OP)


def later(key: Key, turns: int) -> Key:
    """The same row, so many turns later."""
    return key + (turns << _TURN_SHIFT)
