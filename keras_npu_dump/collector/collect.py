"""`collect`: scan, link, pair, check, and write down."""
from __future__ import annotations

import os
from typing import Any, Dict, Iterable, Optional, Sequence, Union

from keras_npu_dump.collector import answer
from keras_npu_dump.collector.graphs.roles import ROLES
from keras_npu_dump.collector.job import Job
from keras_npu_dump.collector.processes.sessions import group_sessions
from keras_npu_dump.collector.rules.evidence import DEFAULT_KEYWORDS
from keras_npu_dump.collector.scan.dump_tree import only_device, scan_tree
from keras_npu_dump.errors import InputError
from keras_npu_dump.files.progress import Progress
from keras_npu_dump.records.manifest import Manifest
from keras_npu_dump.records.problems import Problems
from keras_npu_dump.records.reading import read_run, read_runs


def collect(path: Union[str, "os.PathLike[str]"], graphs: Iterable[str] = (),
            keywords: Sequence[str] = DEFAULT_KEYWORDS,
            role: Optional[str] = None, output: Optional[str] = None, verify: bool = False,
            budget: int = 20000, run_id: Optional[str] = None,
            progress: Optional[Progress] = None, write: bool = True,
            known: Optional[Dict[str, Any]] = None) -> Manifest:
    """Finds which Build graph was executed for which dump folder, and how sure that is.

    Args:
      path: any level from the dump path to a data_index folder. A level below
        the dump path narrows the answer to what lies there; it is then only
        written where `output` says.
      graphs: folders (searched at any depth) or files to look for Build graphs
        in, besides those that the run records name, `{path}/graphs`, and
        `path` itself; the current directory where these have none.
      keywords: words or operator names to look for in the graphs, as the
        vendor's procedure does. What is found is shown as evidence, and
        decides between graphs that nothing else tells apart.
      role: return only pairs of this role: train, eval, predict, iterator, init
        or unknown; manifest.json in the dump path keeps all. Defaults to all.
      output: file to write the manifest to, or a folder to write manifest.json
        to. Defaults to `{dump_path}/manifest.json`, or with `run_id` to
        `{dump_path}/runs/{run_id}/manifest.json`; where that cannot be written
        nothing is, and `Manifest.path` is None.
      verify: open every dump file.
      budget: how many dump files are opened otherwise.
      run_id: only that process's own run.
      progress: called as (stage, done, total or None).
      write: False writes nothing at all.
      known: with `run_id`, what that run's own process knows beside its files; see
        records.read_run.

    Returns:
      The Manifest. What could not be paired is among its `problems`, with the cause.

    Raises:
      InputError: a path that is no folder, an unknown role or run, an `output`
        that cannot be written.
    """
    if role is not None and role not in ROLES:
        raise InputError("role: expected one of %s. Received: %r" % (", ".join(ROLES), role))
    path = os.fspath(path)
    problems = Problems()
    own = None if run_id is None else read_run(os.path.join(path, "runs", run_id), Problems(),
                                               known)
    only = None if own is None or own.device is None else only_device(own.device)
    tree = scan_tree(path, problems, progress, only)
    sessions = group_sessions(tree.folders, tree.dump_path)
    # Dump paths of several hosts may lie side by side, each with records of its own.
    roots = list(dict.fromkeys([tree.dump_path] + sorted(one.root for one in sessions)))
    runs = [run for root in roots for run in read_runs(root, problems)]
    if own is not None and known is not None:
        runs = [run for run in runs if run.run_id != run_id] + [own]
    job = Job(roots, os.path.abspath(path), runs, problems)
    job.link(sessions, run_id)
    job.read_graphs(graphs, keywords)
    job.pair()
    job.check(None if verify else budget, tree.narrow, progress)
    manifest = answer.make_manifest(job, role)
    if write and not manifest.empty:
        if output is not None:
            manifest.write(os.path.join(output, "manifest.json") if os.path.isdir(output)
                           else output)
        elif not tree.narrow:
            # A part of the answer never replaces the whole one.
            whole = manifest if role is None else answer.make_manifest(job, None)
            manifest.path = _write(whole, job.dump_path if run_id is None else job.own[0].folder)
    return manifest


def _write(manifest: Manifest, folder: str) -> Optional[str]:
    try:
        return manifest.write(os.path.join(folder, "manifest.json"))
    except InputError:
        # A read-only tree: the answer goes to the caller alone.
        return None
