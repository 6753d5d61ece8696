"""Which generation of CANN is emulated, where generations differ.

The environment variable KERAS_NPU_DUMP_EMULATE_CANN holds a name, features, or both,
separated by commas: "old", "new,names=tf1", "files=a2,csv=kernel". It is read when the
options are made and when the device is opened.
"""
from __future__ import annotations

import dataclasses
import itertools
import os
import time
from typing import Dict, Iterator, Optional, Tuple

from keras_npu_dump.errors import ConfigError

VARIABLE = "KERAS_NPU_DUMP_EMULATE_CANN"

# feature -> its values; the first is what "new" has.
FEATURES: Dict[str, Tuple[str, ...]] = {
    "index": ("8", "5"),
    "graph_id": ("yes", "no"),
    "names": ("function", "suffix", "tf1"),
    "eos": ("static", "dynamic", "counted", "skipped"),
    "time": ("one", "two"),
    "files": ("plain", "a2"),
    "csv": ("cpu", "kernel"),
    "folder": ("pid", "plain", "cwd"),
    "switch": ("value", "any"),
    "options": ("new", "2022", "old"),
    "models": ("driver", "counted"),
    "rebuild": ("no", "yes"),
    "parts": ("one", "root", "own"),
}
_GENERATIONS: Dict[str, Dict[str, str]] = {
    # GE of 2026.
    "new": {},
    # GE of autumn 2022, the last public one before, closest to TensorFlow 2.6.5.
    "2022": {"graph_id": "no", "names": "suffix", "eos": "dynamic", "folder": "plain",
             "switch": "any", "options": "2022", "models": "counted", "parts": "root"},
    # GE of 2020, whose file names the vendor's documents still show.
    "old": {"index": "5", "graph_id": "no", "names": "suffix", "eos": "skipped",
            "folder": "cwd", "switch": "any", "options": "old", "models": "counted",
            "parts": "root"},
}


@dataclasses.dataclass(frozen=True)
class Generation:
    """The choices in force.

    Attributes:
      index: digits of a graph file's number.
      graph_id: whether the file's name holds the graph id.
      names: of graphs: the function's, the same with `_<graph id>`, or TF1's
        `ge_default_<time>_<graph id>`.
      eos: whether an execution that ended at the end of the data counts: in static graphs
        only (davinci_model.cc of 2026), in dynamic ones only (hybrid_model_executor.cc of
        2022, which counts before it looks), always, or never.
      time: one time folder, or a second one below it (newest chips).
      files: names as everywhere, or with the four numbers of the Atlas A2.
      csv: dialect of statistics.
      folder: DUMP_GRAPH_PATH/pid_..., DUMP_GRAPH_PATH itself, or always the current one.
      switch: whether DUMP_GE_GRAPH goes by its value, or is on when set at all.
      options: which release's options npu_device has.
      models: numbers of models are the driver's, in no order and used again, or count from 1.
      rebuild: whether a later graph changes the format of the variables that it shares with
        earlier ones, so that these are built again; on request only.
      parts: whether a dynamic graph is one model, or its parts of known shape are models of
        their own, under the root's name (GE of 2022, and the first runtime of 2026) or under
        names of their own (the second runtime), see `parts.py`.
    """

    index: str = "8"
    graph_id: str = "yes"
    names: str = "function"
    eos: str = "static"
    time: str = "one"
    files: str = "plain"
    csv: str = "cpu"
    folder: str = "pid"
    switch: str = "value"
    options: str = "new"
    models: str = "driver"
    rebuild: str = "no"
    parts: str = "one"

    def graph_name(self, function: str, graph_id: int) -> str:
        """What GE calls the graph of a function.

        Args:
          function: its name.
          graph_id: of the graph.
        """
        if self.names == "tf1":
            return "ge_default_%s_%d" % (time.strftime("%Y%m%d%H%M%S"), graph_id)
        return "%s_%d" % (function, graph_id) if self.names == "suffix" else function

    def graph_ids(self) -> Iterator[int]:
        """GE's numbers of graphs; the TF1 adapter leaves room for nine more each (geop_npu.cc)."""
        return itertools.count(1, 10) if self.names == "tf1" else itertools.count()

    @property
    def keeps_constants(self) -> bool:
        """Whether the values of constants stay in graphs when there is a dump path; in the
        oldest GE only DUMP_GE_GRAPH=1 kept them."""
        return self.index != "5"

    @property
    def missing_path(self) -> str:
        """GE's code for a dump without dump_path."""
        return "E10001" if self.graph_id == "no" else "E10058"

    def counts_end(self, static: bool) -> bool:
        """Whether an execution that met the end of the data raises the counter.

        Args:
          static: whether all shapes of the graph are known before it runs.
        """
        return self.eos == "counted" or self.eos == ("static" if static else "dynamic")


def parse(text: Optional[str]) -> Generation:
    """Reads the variable's value.

    Args:
      text: as in the module's docstring; None and "" are "new".

    Raises:
      ConfigError: an unknown generation, feature or value; the text lists what there is.
    """
    chosen: Dict[str, str] = {}
    for item in (text or "new").split(","):
        key, equals, value = item.strip().partition("=")
        if not equals and key in _GENERATIONS:
            chosen.update(_GENERATIONS[key])
        elif equals and value in FEATURES.get(key, ()):
            chosen[key] = value
        else:
            raise ConfigError("%s: expected %s, or features such as %s. Received: %r." % (
                VARIABLE, ", ".join(sorted(_GENERATIONS)),
                ", ".join("%s=%s" % (name, "|".join(values))
                          for name, values in FEATURES.items()), item))
    return Generation(**chosen)


def current() -> Generation:
    """The generation that the environment asks for now.

    Raises:
      ConfigError: see `parse`.
    """
    return parse(os.environ.get(VARIABLE))
