"""What one collect knows of a dump before it checks anything: graphs, pairs, sections."""
from __future__ import annotations

import dataclasses
from typing import Dict, Iterable, List, Optional, Sequence

from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.collector.graphs.graph_search import Search, find_graph_files
from keras_npu_dump.collector.graphs.roles import decide_role
from keras_npu_dump.collector.pairing import alike, ends_of_data, sections
from keras_npu_dump.collector.pairing.match import Match, Paired
from keras_npu_dump.collector.pairing.pairing import make_pairs, make_units, match_units
from keras_npu_dump.collector.processes.sessions import Session
from keras_npu_dump.collector.processes.who_ran import Processes
from keras_npu_dump.collector.rules.evidence import Context, Unit
from keras_npu_dump.collector.scan.headers import HeaderCache
from keras_npu_dump.op_types.graph_names import role_of
from keras_npu_dump.records.problems import Problems


@dataclasses.dataclass
class Job:
    """Graphs and dump folders of the processes, paired.

    Attributes:
      path: what the user named, absolute.
      processes: whose dump it is.
      search: which graph files were found, and what lay beside them.
      graphs: the Build graphs, with their roles.
      context: reads the bodies of graphs, each once.
      matches: for each unit of dump folders its graph, or why it has none.
      pairs: for each graph and session its folders, in the order of the matches.
      trained: by id of the session, its pairs of role train in the order of execution.
    """

    path: str
    processes: Processes
    search: Search
    graphs: List[BuildGraph]
    context: Context
    matches: List[Match]
    pairs: List[Paired]
    trained: Dict[int, List[Paired]]

    def unpaired(self, session: Optional[Session]) -> List[Unit]:
        """Units of a session that have no graph; of no session there are none."""
        return _without_graph(self.matches, session)


def make_job(path: str, processes: Processes, graphs: Iterable[str], keywords: Sequence[str],
             problems: Problems) -> Job:
    """Finds the graphs of the processes and pairs them with the dump folders.

    Args:
      path: what the user named, absolute.
      processes: whose dump it is.
      graphs: folders or files that the user named, see `find_graph_files`.
      keywords: see `collect`.
      problems: are told of folders and graph files that cannot be read.

    Raises:
      InputError: a name in `graphs` does not exist.
    """
    search = find_graph_files(processes.roots, path, processes.own, graphs, problems)
    files = search.files
    if processes.one_run:
        files = [one for one in files if one.pid in (None, processes.own[0].pid)]
    found = [BuildGraph(one) for one in files]
    context = Context(processes.runs, processes.launches, list(keywords), {}, HeaderCache(),
                      processes.roots)
    matches = match_units(make_units(processes.sessions), found, context)
    for graph in found:
        if graph.body is None and role_of(graph.name) == "unknown":
            context.body(graph)
        decide_role(graph, processes.runs)
    pairs = make_pairs(matches)
    trained = {}
    for session in processes.sessions:
        training = [one for one in pairs
                    if one.session is session and one.graph.role == "train"]
        sections.assign_sections(training, _without_graph(matches, session), session.run, found)
        ends_of_data.settle(training, context.body)
        trained[id(session)] = sorted(training, key=sections.training_order)
        alike.tell_apart(trained[id(session)])
    return Job(path, processes, search, found, context, matches, pairs, trained)


def _without_graph(matches: Sequence[Match], session: Optional[Session]) -> List[Unit]:
    return [match.unit for match in matches
            if match.graph is None and match.unit.session is session]
