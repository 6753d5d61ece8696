"""Evidence: what speaks for and against a graph and a dump folder.

Each rule looks at one unit (the folders of one model id) and one Build graph,
and answers with an `Evidence` or None. The rules are in `rules_names.py`,
`rules_content.py` and `rules_process.py`; importing `rules.py` fills `RULES`
with all of them. How the answers are weighed is in `pairing.py`.
"""
from __future__ import annotations

import collections
import dataclasses
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Sequence

from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.collector.processes.launches import Launches
from keras_npu_dump.collector.processes.sessions import Session
from keras_npu_dump.collector.scan import headers
from keras_npu_dump.collector.scan.folders import DumpFolder
from keras_npu_dump.records.reading import RecordedRun

FOR, AGAINST, EXCLUDED, SHOWN = "for", "against", "excluded", "shown"

# The word that the vendor's procedure looks for.
DEFAULT_KEYWORDS = ("Iterator",)
# Files of unknown operators that are forgiven in a pair by content.
FEW_STRANGE = 0.02


@dataclasses.dataclass
class Unit:
    """The dump folders of one model id: what one loaded graph wrote in one session."""

    session: Session
    model_name: Optional[str]
    model_id: Optional[int]
    folders: List[DumpFolder]
    operators: FrozenSet[str] = frozenset()

    def __post_init__(self) -> None:
        self.operators = frozenset().union(*{one.operators for one in self.folders})

    @property
    def indices(self) -> List[int]:
        return sorted({one.data_index for one in self.folders if one.data_index is not None})

    @property
    def first_dump(self) -> Optional[float]:
        times = [one.first_time for one in self.folders if one.first_time]
        return min(times) / 1e6 if times else None

    @property
    def allowance(self) -> int:
        """Files of unknown operators that are forgiven in a pair by content."""
        return int(FEW_STRANGE * len(self.operators))

    @property
    def label(self) -> str:
        parts = [self.session.label, self.model_name or "?"]
        return "/".join(parts + ([] if self.model_id is None else [str(self.model_id)]))


@dataclasses.dataclass
class Evidence:
    """One rule's answer. `value` grades it among answers of the same rule."""

    rule: str
    verdict: str
    text: str
    value: float = 1.0
    strange: int = 0


@dataclasses.dataclass
class Context:
    """What rules need beyond one unit and one graph."""

    runs: Sequence[RecordedRun]
    launches: Launches
    keywords: Sequence[str]
    bodies: Dict[Any, Any]
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

    def body(self, graph: BuildGraph):
        return graph.read_body(self.bodies)


Rule = Callable[[Unit, BuildGraph, Context], Optional[Evidence]]
RULES: Dict[str, Rule] = collections.OrderedDict()


def rule(name: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        RULES[name] = function
        return function
    return register


def weigh(unit: Unit, graph: BuildGraph, context: Context,
          names: Optional[Sequence[str]] = None) -> Dict[str, Evidence]:
    """The answers of all rules (or of those named) that have one."""
    found = {}
    for name in RULES if names is None else names:
        function = RULES.get(name)
        evidence = None if function is None else function(unit, graph, context)
        if evidence is not None:
            found[name] = evidence
    return found
