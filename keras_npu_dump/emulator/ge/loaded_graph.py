"""A graph as GE keeps it while it is loaded."""
from __future__ import annotations

from typing import Any, Dict, Optional

from keras_npu_dump.emulator.ge import device_loops
from keras_npu_dump.emulator.ge.parts import Parts
from keras_npu_dump.emulator.tracer.dump_plan import Plan
from keras_npu_dump.emulator.tracer.twin import Twin


class LoadedGraph:
    """A graph that GE has loaded.

    Args:
      name, graph_id, model_id: see the attributes.
      ge_name: see the attributes. Defaults to `name`.

    Attributes:
      name: of the concrete function, or of the eager operator.
      ge_name: of the graph; the model_name of its dump folder, once sanitised.
      graph_id: its number among all graphs of the process.
      model_id: of its model, see `model_ids`; 0 before it is loaded.
      count: executions so far, which is the data_index of the next.
      plan: what a dumped execution writes; None where nothing is dumped.
      static: whether all its shapes are known before it runs.
      loop: the loop in it that the device runs, or None.
      parts: of a dynamic graph, where they are models of their own; else None.
      own_state: whether it holds kernels that keep state, which would not be the twin's, so
        that the twin must run in every execution or in none.
      twin: runs in place of the function where something is dumped; made when it is needed.
      bare: runs in place of the function where nothing is dumped; None for the function itself.
      constants: decoded constants, see `values.Values`.
    """

    def __init__(self, name: str, graph_id: int, model_id: int, ge_name: str = ""):
        self.name = name
        self.ge_name = ge_name or name
        self.graph_id = graph_id
        self.model_id = model_id
        self.count = 0
        self.plan: Optional[Plan] = None
        self.own_state = False
        self.twin: Optional[Twin] = None
        self.bare: Optional[Twin] = None
        self.constants: Dict[Any, Any] = {}
        self.static = True
        self.loop: Optional[device_loops.Loop] = None
        self.parts: Optional[Parts] = None
