"""What pairing answers: which graph each unit of dump folders belongs to."""
from __future__ import annotations

import dataclasses
from typing import Dict, List, Optional

from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.collector.pairing import loads
from keras_npu_dump.collector.processes.sessions import Session
from keras_npu_dump.collector.rules.evidence import Unit
from keras_npu_dump.collector.scan.folders import DumpFolder
from keras_npu_dump.records.journal_lines import RecordedSection


@dataclasses.dataclass
class Match:
    """A unit with its graph.

    Attributes:
      unit: the dump folders of one model id.
      graph: None where none was found; `why` says it.
      confidence: "exact", "id", "content" or "guess".
      evidence: texts, those of the rules first.
      rivals: graphs that the evidence does not rule out.
      tied: the graph, with those of the rivals that nothing tells from it.
      level: of the name, 3 full name to 0 none (`Candidate.name_level`).
    """

    unit: Unit
    graph: Optional[BuildGraph]
    confidence: str
    evidence: List[str]
    rivals: List[BuildGraph] = dataclasses.field(default_factory=list)
    why: Optional[str] = None
    tied: List[BuildGraph] = dataclasses.field(default_factory=list)
    level: int = 0


@dataclasses.dataclass
class Paired:
    """A graph with its folders in one session, and the section of the journal that counted
    its executions; None where it has none, or it is not known which. `counting` tells whether
    the device counted executions in which the data ended; None where it ended in none.
    `takes` tells it from other graphs of its session that show alike; None without any."""

    session: Session
    graph: BuildGraph
    matches: List[Match]
    section: Optional[RecordedSection] = None
    counting: Optional[str] = None
    takes: Optional[str] = None
    _loads: Optional[Dict[loads.Model, int]] = dataclasses.field(
        default=None, init=False, repr=False, compare=False)

    @property
    def folders(self) -> List[DumpFolder]:
        """Of all matches."""
        return [folder for one in self.matches for folder in one.unit.folders]

    @property
    def indices(self) -> List[int]:
        """The data_index of all folders, each once, in order."""
        return sorted({index for one in self.matches for index in one.unit.indices})

    @property
    def folder(self) -> str:
        """A folder to show for the whole."""
        return self.matches[0].unit.folders[0].path

    def load_of(self, unit: Unit) -> int:
        """How often the graph had been loaded before, see `loads`.

        Args:
          unit: of one of the matches, all of which are there by now.
        """
        if self._loads is None:
            self._loads = loads.loads_of(self.folders)
        return self._loads[unit.model_name, unit.model_id]

    @property
    def later(self) -> List[Unit]:
        """Units of all loads after the first: the graph was built again, and its counter began
        anew."""
        return [one.unit for one in self.matches if self.load_of(one.unit)]
