"""What a training was for, in one line: graph file, dump folders, batches, how sure."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Dict, List, Optional, Sequence, Tuple

from keras_npu_dump.sizes import plural

if TYPE_CHECKING:
    from keras_npu_dump.records.manifest import Pair, Step

UNCERTAIN = " (not sure: index-uncertain)"
_NUMBERS, _GROUPS = 8, 3  # of folders in braces; of epochs, and of folders of models


def answer_line(pair: Pair, several: bool = False, uncertain: bool = False) -> str:
    """The answer for a training graph; names and paths in it are as they were found.

    Args:
      pair: with its dump folders.
      several: whether there are several ranks or devices, so that the line says which.
      uncertain: whether a problem says that the batches are not known for sure.
    """
    whose = "" if not several else " of device %s" % pair.device if pair.rank is None \
        else " of rank %s" % pair.rank
    batches = _batches([next((one.iteration for one in parts if one.iteration), None)
                        for _, parts in pair.executions()])
    return "Graph %s%s belongs to %s %s: %s%s; confidence %s" % (
        pair.graph, whose, plural(len(pair.steps), "dump folder"), _folders(pair.steps), batches,
        UNCERTAIN if uncertain else "", pair.confidence)


def _folders(steps: Sequence[Step]) -> str:
    """As a shell takes them: `20261201060841/0/__inference_train_function_349/19/{0,2}`."""
    groups: Dict[str, List[str]] = {}
    for step in steps:
        above, name = os.path.split(step.path)
        groups.setdefault(above, []).append(name)
    texts = [os.path.join(above, braces(names)) for above, names in groups.items()]
    return _few(texts, " ", "folders")


def braces(names: List[str]) -> str:
    """`{0,2}` of several names, as a shell takes them, shortened where they are many.

    Args:
      names: of folders beside each other, in order.
    """
    if len(names) == 1:
        return names[0]
    if len(names) <= _NUMBERS:
        return "{%s}" % ",".join(names)
    numbers = sorted(int(name) for name in names if name.isdigit())
    whole = len(numbers) == len(names) and numbers == list(range(numbers[0], numbers[-1] + 1))
    return "{%s%s%s}" % (names[0], ".." if whole else ",...,", names[-1])


def _batches(iterations: Sequence[Optional[Dict[str, int]]]) -> str:
    groups: Dict[Tuple[int, int], List[int]] = {}
    for one in iterations:
        if one:
            numbers = groups.setdefault((one["fit"], one["epoch"]), [])
            if one["batch"] not in numbers:
                numbers.append(one["batch"])
    if not groups:
        return "which batches is unknown"
    texts = ["%sepoch %d, %s %s" % (
        "fit %d, " % fit if fit else "", epoch, "batch" if len(numbers) == 1 else "batches",
        _ranges(numbers)) for (fit, epoch), numbers in groups.items()]
    unknown = sum(1 for one in iterations if not one)
    return _few(texts, "; ", "epochs") + ("; %d unknown" % unknown if unknown else "")


def _ranges(numbers: Sequence[int]) -> str:
    """`0-2, 5` of 0, 1, 2, 5; of many the first and the last."""
    texts: List[str] = []
    rest = sorted(numbers)
    while rest:
        length = 1
        while length < len(rest) and rest[length] == rest[0] + length:
            length += 1
        texts.append("%d-%d" % (rest[0], rest[length - 1]) if length > 1 else str(rest[0]))
        rest = rest[length:]
    return ", ".join(texts if len(texts) <= _NUMBERS else [*texts[:_NUMBERS], "...", texts[-1]])


def _few(texts: List[str], between: str, what: str) -> str:
    left = len(texts) - _GROUPS
    return between.join(texts[:_GROUPS]) + (" and %d more %s" % (left, what) if left > 0 else "")
