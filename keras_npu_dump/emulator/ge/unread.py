"""The parts of a graph whose values cannot be read out, and the warnings about them."""
from __future__ import annotations

from typing import Dict, List, Optional, Set

from keras_npu_dump import messages
from keras_npu_dump.emulator.functions import flat as flat_lib
from keras_npu_dump.emulator.functions.flat import Flat, Lookup
from keras_npu_dump.emulator.ge.device_loops import Loop


def of_conditions(root: Flat, loop: Optional[Loop], lookup: Lookup) -> Set[int]:
    """The conditions of loops that stay where nothing comes out of them.

    That of a loop on the device, and those that draw random numbers, which would be others
    in another place. A warning tells of the latter.

    Args:
      root: the graph.
      loop: the loop in it that the device runs, or None.
      lookup: from a function's name to its FunctionDef.

    Returns:
      id(flat) of each, and of the bodies inside it.
    """
    unread: Set[int] = set()
    for flat in root.walk():
        if flat.role != "cond" or id(flat) in unread:
            continue
        random = flat_lib.keeps_state(flat, lookup)
        if random:
            messages.warning("emulator: the condition of %s draws random numbers and cannot"
                             " be dumped.", flat.node)
        if random or (loop is not None and loop.sunk and loop.node == flat.node):
            unread.update(id(inner) for inner in flat.walk())
    return unread


def report(root: Flat) -> None:
    """Warns of what cannot be read out: a sentence for each reason, however many operators.

    Args:
      root: the graph.
    """
    found: Dict[str, List[str]] = {}
    for flat in root.walk():
        for node, why in flat.unread:
            found.setdefault(why, []).append(node)
    for why, nodes in found.items():
        messages.warning("emulator: what happens inside %s%s cannot be dumped (%s).", nodes[0],
                         " and %d more" % (len(nodes) - 1) if len(nodes) > 1 else "", why)
