"""What was asked for and was not read: why a verdict is of a part only.

Most of it `collect` has found: its problems are looked through for those that concern
what this triage looks at. A file or graph that could not be read here is one more.
"""
from __future__ import annotations

import os
import re
import stat
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from keras_npu_dump.analysis.views import PairView, Rank
from keras_npu_dump.records.layout import JOURNAL_FILE, RUN_FILE, RUNS
from keras_npu_dump.records.manifest import Manifest
from keras_npu_dump.records.problems import ERROR, Problem

# A device folder of the dump tree, or a graph folder's name.
_DEVICE = re.compile(r"(?:^|/)[0-9]{12,14}/(?:[0-9]{12,14}/)?([0-9]+)(?:/|$)|deviceid_([0-9]+)")
# What collect finds missing, broken or not there yet.
_OF_DATA = ("step-missing", "step-partial", "empty-file", "truncated-file", "still-growing",
            "unreadable")
_OF_RUN = ("not-dumped", "no-pair", "no-graph", "step-not-reached", "layer-unknown",
           "run-crashed")
# A full disk leaves thousands of gaps, and a count says it better.
_MOST = 100
# Without an error they are no loss: overflow detection without overflow, and the like.
_ONLY_AS_ERROR = ("not-dumped", "no-pair", "no-graph", "layer-unknown")


class Gap(NamedTuple):
    """Something that was asked for and not read.

    Attributes:
      code: as in the manifest's problems. message: a sentence.
      path: below the dump path, or absolute outside of it; None where there is none.
    """

    code: str
    message: str
    path: Optional[str]

    def to_json(self) -> Dict[str, Any]:
        """An entry of "incomplete" in the schema `keras_npu_dump.triage/1`."""
        return {"code": self.code, "message": self.message, "path": self.path}


class Selection(NamedTuple):
    """What a triage looks at.

    Attributes:
      pairs: that were chosen. others: all others of the job.
      role: that was asked for, or "all". rank: None for all ranks.
    """

    pairs: Sequence[PairView]
    others: Sequence[PairView]
    role: str
    rank: Optional[Rank]


def gaps_of(manifest: Manifest, chosen: Selection,
         unreadable: Iterable[Tuple[str, str]]) -> List[Gap]:
    """What was asked for and not read, each once, as the manifest orders its problems.

    Args:
      manifest: of the job.
      chosen: what the triage looks at.
      unreadable: (path, reason) of what this triage could not read.
    """
    places = _Places(manifest, chosen)
    found: Dict[Tuple[str, Optional[str], str], Gap] = {}
    bare = {os.path.normpath(manifest.absolute(one.path)) for pair in chosen.pairs
            for one in pair.record.steps if not one.files}
    for problem in manifest.problems:
        if _counts(problem, manifest) and places.concern(problem):
            # Several steps may be told of one path, that of their run.
            key = (problem.code, problem.path, problem.message)
            found.setdefault(key, Gap(problem.code, problem.message, problem.path))
            if problem.path is not None:
                bare.discard(os.path.normpath(manifest.absolute(problem.path)))
    for pair in chosen.pairs:
        # A manifest of version 0.1.0 has no word of them.
        for step in pair.record.steps:
            if os.path.normpath(manifest.absolute(step.path)) in bare:
                found[("step-missing", step.path, "")] = Gap(
                    "step-missing", "step %s of %s has a folder without any file" % (
                        step.data_index, step.model_name), step.path)
    told = {os.path.normpath(manifest.absolute(one.path)) for one in found.values()
            if one.path is not None}
    for path, reason in unreadable:
        absolute = os.path.normpath(manifest.absolute(str(path)))
        if absolute not in told and _is_of_the_dump(absolute):
            inside = absolute.startswith(manifest.dump_path.rstrip(os.sep) + os.sep)
            place = os.path.relpath(absolute, manifest.dump_path) if inside else absolute
            found.setdefault(("unreadable", place, ""), Gap("unreadable", reason, place))
    gathered = list(found.values())
    if len(gathered) > _MOST:
        more = len(gathered) - _MOST + 1
        gathered[_MOST - 1:] = [gathered[_MOST - 1]._replace(
            message="%d more of these and other kinds" % more, path=None)]
    return gathered


def _counts(problem: Problem, manifest: Manifest) -> bool:
    if problem.code in _ONLY_AS_ERROR:
        # Who has dump data alone, made by hand, has asked for no graph.
        return problem.severity == ERROR and (problem.code == "not-dumped" or bool(manifest.runs))
    if problem.code == "unreadable":
        # Records are not what was dumped, nor are graphs that nothing belongs to.
        return problem.path is not None and _is_of_the_dump(manifest.absolute(problem.path)) and (
            problem.severity == ERROR or problem.path not in {
                graph.file for graph in manifest.graphs})
    return problem.code in _OF_DATA + _OF_RUN


def _is_of_the_dump(path: str) -> bool:
    """Whether a path that cannot be read is a file or folder of dump data, or a graph; what is
    gone was one. FIFOs and the like are in nobody's dump, whatever their names."""
    if os.path.basename(path) in ("mapping.csv", RUN_FILE, JOURNAL_FILE):
        return False
    if os.path.basename(os.path.dirname(path)) == RUNS:
        return False
    try:
        mode = os.lstat(path).st_mode
    except (OSError, ValueError):  # gone, or no name that a file can have
        return True
    return stat.S_ISREG(mode) or (stat.S_ISDIR(mode) and not os.access(
        path, os.R_OK | os.X_OK))


class _Places:
    """Whose a problem's path is: that of a pair, of a run, or nobody's."""

    def __init__(self, manifest: Manifest, chosen: Selection):
        self._manifest = manifest
        self._chosen = chosen
        self._pairs: Dict[str, List[PairView]] = {}
        for pair in list(chosen.pairs) + list(chosen.others):
            for path in [one.path for one in pair.record.steps] + [pair.record.graph]:
                if path:
                    self._pairs.setdefault(self._normal(path), []).append(pair)
        self._own = {id(pair) for pair in chosen.pairs}
        self._runs = {run.run_id: run for run in manifest.runs}
        ranks = {run.device: run.rank for run in manifest.runs}
        self._devices = [device for device, rank in ranks.items() if rank == chosen.rank]

    def _normal(self, path: str) -> str:
        return os.path.normpath(self._manifest.absolute(path))

    def concern(self, problem: Problem) -> bool:
        """Whether it is about what this triage looks at; where nobody can tell, it is."""
        if problem.path is None:
            return True
        path = self._normal(problem.path)
        for place in (path, os.path.dirname(path)):
            pairs = self._pairs.get(place)
            if pairs is not None:
                return any(self._is_asked(pair) for pair in pairs)
            run = self._runs.get(os.path.basename(place))
            if run is not None and os.path.basename(os.path.dirname(place)) == RUNS:
                return self._chosen.role in ("train", "all") and (
                    self._chosen.rank in (None, run.rank))
        return self._is_here(problem.path)

    def _is_asked(self, pair: PairView) -> bool:
        if id(pair) in self._own:
            return True
        # What has no graph may be what was asked for.
        return pair.confidence is None and self._chosen.rank in (None, pair.rank_key) and (
            self._chosen.role == "all" or pair.role in (self._chosen.role, "unknown"))

    def _is_here(self, path: str) -> bool:
        """Of a folder that is in no pair its device tells the rank."""
        if self._chosen.rank is None or not self._devices:
            return True
        found = _DEVICE.search(path)
        return found is None or int(found.group(1) or found.group(2)) in self._devices


def nothing_known(manifest: Manifest, pairs: Sequence[PairView], found: Sequence[Gap]) -> bool:
    """Whether the folder holds no trace of a training at all.

    Args:
      manifest: of the job. pairs: all of it. found: by `gaps_of`.
    """
    return not (manifest.runs or manifest.graphs or pairs
                or any(one.code != "not-dumped" for one in found))
