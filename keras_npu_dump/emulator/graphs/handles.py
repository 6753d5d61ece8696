"""What is behind the handles of variables and iterators: names and dtypes.

Eager handles are told apart by TensorFlow's `_id`, which no two of a process share.
"""
from __future__ import annotations

import itertools
from typing import Any, Dict, Optional

_numbers = itertools.count()
_iterators: Dict[int, str] = {}
_variables: Dict[int, str] = {}


def note_variable(handle: Any, name: str) -> None:
    """Remembers the name with which a variable is made.

    Args:
      handle: of the variable; a symbolic one, which has no identity, is left out.
      name: as the user or Keras gave it.
    """
    if name and hasattr(handle, "_id"):
        _variables[handle._id] = name.rstrip("/")


def note_iterator(handle: Any) -> None:
    """Gives an iterator the next of the adapter's names, "AnonymousIterator0" and so on.

    Args:
      handle: of the iterator, eager tensor.
    """
    _iterators[handle._id] = "AnonymousIterator%d" % next(_numbers)


def variable_name(handle: Any) -> Optional[str]:
    """The name a variable's handle was made with; None where it is not known.

    Args:
      handle: eager tensor.
    """
    return _variables.get(getattr(handle, "_id", -1))


def iterator_name(handle: Any) -> str:
    """What the adapter calls the iterator behind a handle.

    Args:
      handle: eager tensor.

    Returns:
      A name as "AnonymousIterator0"; "Iterator" where it was made unseen.
    """
    return _iterators.get(getattr(handle, "_id", -1), "Iterator")


def variable_dtype(value: Any) -> int:
    """The dtype of the variable behind a handle, number of TensorFlow; 0 for anything else.

    Args:
      value: eager tensor, or any other input of an operator.
    """
    data = getattr(value, "_handle_data", None)
    held = list(data.shape_and_type) if data is not None and data.is_set else []
    return int(held[0].dtype) if len(held) == 1 else 0


def names_in(graph: Any) -> Dict[int, str]:
    """The names of the variables that a traced function uses.

    Args:
      graph: FuncGraph.

    Returns:
      Identity of a variable's handle (`_id`) -> name, without the `:0`.
    """
    names: Dict[int, str] = {}
    for variable in getattr(graph, "variables", ()):
        handle = getattr(variable, "handle", None)
        if handle is not None and hasattr(handle, "_id"):
            names[handle._id] = variable.name.rpartition(":")[0] or variable.name
    return names
