"""`collect`: scan, link, pair, check, and write down."""
from __future__ import annotations

import os
from typing import Any, Dict, Iterable, Optional, Sequence, Union

from keras_npu_dump.collector.answer import make_manifest
from keras_npu_dump.collector.checks.check_job import check_job
from keras_npu_dump.collector.graphs.roles import ROLES
from keras_npu_dump.collector.job import make_job
from keras_npu_dump.collector.processes.who_ran import find_processes
from keras_npu_dump.collector.rules.evidence import DEFAULT_KEYWORDS
from keras_npu_dump.collector.scan.dump_tree import only_device, scan_tree
from keras_npu_dump.errors import InputError
from keras_npu_dump.files.progress import Progress
from keras_npu_dump.records.layout import MANIFEST_FILE, RUNS
from keras_npu_dump.records.manifest import Manifest
from keras_npu_dump.records.problems import Problems
from keras_npu_dump.records.reading import read_run


def collect(path: Union[str, "os.PathLike[str]"], graphs: Iterable[str] = (),
            keywords: Sequence[str] = DEFAULT_KEYWORDS,
            role: Optional[str] = None, output: Optional[str] = None, verify: bool = False,
            budget: int = 20000, run_id: Optional[str] = None,
            progress: Optional[Progress] = None, write: bool = True,
            known: Optional[Dict[str, Any]] = None) -> Manifest:
    """Finds which Build graph was executed for which dump folder, and how sure that is.

    Args:
      path: any level from the dump path to a data_index folder. A level below
        the dump path narrows the answer to what lies there; it is then written
        only if `output` is given.
      graphs: folders (searched at any depth) or files to look for Build graphs
        in, besides those that the run records name, `{path}/graphs`, and
        `path` itself; the current directory where these have none. Defaults to
        none.
      keywords: words or operator names to look for in the graphs, as the
        vendor's procedure does. What is found is shown as evidence, and
        decides between graphs that nothing else tells apart if it is not the
        default. Defaults to ("Iterator",).
      role: return only pairs of this role: train, eval, predict, iterator, init
        or unknown; manifest.json in the dump path keeps all. Defaults to all.
      output: file to write the manifest to, or a folder to write manifest.json
        to. Defaults to `{dump_path}/manifest.json`, or with `run_id` to
        `{dump_path}/runs/{run_id}/manifest.json`; where that cannot be written
        nothing is, and `Manifest.path` is None.
      verify: open every dump file and look whether it is whole. Defaults to False.
      budget: how many dump files are opened otherwise, spread evenly. Defaults to
        20000.
      run_id: answer for this run alone: its id, the name of its folder in `runs/`.
        Defaults to all runs.
      progress: called as (stage, done, total or None), for stages "scan" and
        "headers". Defaults to None.
      write: False writes nothing at all. Defaults to True.
      known: with `run_id`, what that run's own process knows beside its files, which
        may be gone or not written to the end: {"record": the fields of run.json,
        "journal": lines of iterations.jsonl, as bytes, "closed": whether all was written
        that will be}. Defaults to None: the files alone are read.

    Returns:
      The Manifest. What could not be paired is among its `problems`, with the cause;
      broken dumps, graphs and records never raise. `Manifest.path` is the
      file that was written, or None.

    Raises:
      InputError: a path that is no folder or cannot be read, a name in `graphs` that
        does not exist, an unknown role or run, an `output` that cannot be written.
    """
    if role is not None and role not in ROLES:
        raise InputError("role: expected one of %s. Received: %r" % (", ".join(ROLES), role))
    path = os.fspath(path)
    problems = Problems()
    own = None if run_id is None else read_run(os.path.join(path, RUNS, run_id), Problems(),
                                               known)
    only = None if own is None or own.device is None else only_device(own.device)
    tree = scan_tree(path, problems, progress, only)
    processes = find_processes(tree, run_id, None if known is None else own, problems)
    job = make_job(os.path.abspath(path), processes, graphs, keywords, problems)
    check_job(job, None if verify else budget, tree.narrow, problems, progress)
    manifest = make_manifest(job, problems, role)
    if write and not manifest.empty:
        if output is not None:
            manifest.write(os.path.join(output, MANIFEST_FILE) if os.path.isdir(output)
                           else output)
        elif not tree.narrow:
            # A part of the answer never replaces the whole one.
            whole = manifest if role is None else make_manifest(job, problems, None)
            manifest.path = _write(whole, processes.dump_path if run_id is None
                                   else processes.own[0].folder)
    return manifest


def _write(manifest: Manifest, folder: str) -> Optional[str]:
    """The path of the manifest.json that was written; None where it cannot be."""
    try:
        return manifest.write(os.path.join(folder, MANIFEST_FILE))
    except InputError:
        # A read-only tree: the answer goes to the caller alone.
        return None
