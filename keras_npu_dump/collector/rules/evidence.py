"""Evidence: what speaks for and against a graph and a dump folder.

Each rule looks at a unit (the folders of one model id) and a Build graph, and
answers with an `Evidence`, or None where it has no say. All rules take the same
arguments, whether each needs all of them or not: they are asked through `RULES`.
They are in `by_name.py`, `by_process.py` and `content.py`; importing `all_rules.py`
fills `RULES` with all of them.
"""
from __future__ import annotations

import collections
import dataclasses
from typing import Callable, Dict, FrozenSet, List, Optional, Sequence

from keras_npu_dump.collector.graphs.body import Body
from keras_npu_dump.collector.graphs.build_graph import BodyCache, BuildGraph
from keras_npu_dump.collector.processes.launches import Launches
from keras_npu_dump.collector.processes.sessions import Session
from keras_npu_dump.collector.scan import headers
from keras_npu_dump.collector.scan.folders import DumpFolder
from keras_npu_dump.records.reading import RecordedRun

# Verdicts: it speaks for the graph; against it, and something stronger may outweigh that;
# it cannot be this graph, whatever else fits; it is told and decides nothing.
FOR, AGAINST, EXCLUDED, SHOWN = "for", "against", "excluded", "shown"

# The word that the vendor's procedure looks for.
DEFAULT_KEYWORDS = ("Iterator",)
# Share of unknown operators that are forgiven in a pair by content.
FEW_STRANGE = 0.02


@dataclasses.dataclass
class Unit:
    """The dump folders of one model id: what one loaded graph wrote in one session.

    Attributes:
      session: that it is part of.
      model_name, model_id: as in the path; None where that level is missing.
      folders: one for each data_index.
      operators: "type.name" of all that have a file in any of the folders.
    """

    session: Session
    model_name: Optional[str]
    model_id: Optional[int]
    folders: List[DumpFolder]
    operators: FrozenSet[str] = frozenset()

    def __post_init__(self) -> None:
        self.operators = frozenset().union(*{one.operators for one in self.folders})

    @property
    def indices(self) -> List[int]:
        """The data_index of all folders, each once, in order."""
        return sorted({one.data_index for one in self.folders if one.data_index is not None})

    @property
    def allowance(self) -> int:
        """Files of unknown operators that are forgiven in a pair by content."""
        return int(FEW_STRANGE * len(self.operators))

    @property
    def label(self) -> str:
        """`{time}/{deviceid}/{model_name}/{model_id}`, for messages."""
        parts = [self.session.label, self.model_name or "?"]
        return "/".join(parts + ([] if self.model_id is None else [str(self.model_id)]))


@dataclasses.dataclass
class Evidence:
    """What a rule answers.

    Attributes:
      rule: its name in RULES.
      verdict: FOR, AGAINST, EXCLUDED or SHOWN.
      text: what was found, for the manifest.
      value: grades it among answers of the same rule; higher speaks more for the graph.
      strange: operators that have files and are not in the graph.
    """

    rule: str
    verdict: str
    text: str
    value: float = 1.0
    strange: int = 0


@dataclasses.dataclass
class Context:
    """What rules need beyond a unit and a graph.

    Attributes:
      runs: all run records.
      launches: of all sessions and runs.
      keywords: words to look for in the graphs.
      bodies: of graphs, filled as they are read.
      headers: of dump files, read once each.
      roots: the dump path, then dump paths below it.
    """

    runs: Sequence[RecordedRun]
    launches: Launches
    keywords: Sequence[str]
    bodies: BodyCache
    headers: "headers.HeaderCache"
    roots: Sequence[str] = ()

    def __post_init__(self) -> None:
        # Names of functions that the journal of some run counted.
        self.counted: Dict[str, List[RecordedRun]] = {}
        for run in self.runs:
            for section in run.sections:
                if section.graph_name:
                    self.counted.setdefault(section.graph_name, []).append(run)

    def counted_by(self, graph: BuildGraph) -> List[RecordedRun]:
        """Runs whose journal counted a function of the graph's name."""
        name = graph.name or ""
        return self.counted.get(name) or self.counted.get(name.rpartition("_")[0]) or []

    @property
    def keywords_given(self) -> bool:
        """Somebody chose the keywords: they decide where nothing else does."""
        return tuple(self.keywords) != DEFAULT_KEYWORDS

    def body(self, graph: BuildGraph) -> Optional[Body]:
        """The body of a graph, read when it is first asked for; None if it cannot be."""
        return graph.read_body(self.bodies)


Rule = Callable[[Unit, BuildGraph, Context], Optional[Evidence]]
RULES: Dict[str, Rule] = collections.OrderedDict()


def rule(name: str) -> Callable[[Rule], Rule]:
    """Registers a function in RULES; without the entry the evidence is not weighed."""
    def register(function: Rule) -> Rule:
        RULES[name] = function
        return function
    return register


def weigh(unit: Unit, graph: BuildGraph, context: Context,
          names: Optional[Sequence[str]] = None) -> Dict[str, Evidence]:
    """The answers, by the rule's name, of the rules that have one.

    Args:
      unit: dump folders.
      graph: that may be theirs.
      context: what the rules need besides.
      names: of the rules to ask, in this order; None asks all.
    """
    found = {}
    for name in RULES if names is None else names:
        function = RULES.get(name)
        evidence = None if function is None else function(unit, graph, context)
        if evidence is not None:
            found[name] = evidence
    return found
