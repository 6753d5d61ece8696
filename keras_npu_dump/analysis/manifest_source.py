"""The manifest of a run: as it is on disk where that is still true, otherwise made anew."""
from __future__ import annotations

import os
from typing import Iterable, List, Optional

from keras_npu_dump.errors import FormatError, InputError
from keras_npu_dump.files.progress import Progress
from keras_npu_dump.files.regular import what_is_there
from keras_npu_dump.records.layout import GRAPHS, MANIFEST_FILE, RUNS
from keras_npu_dump.records.manifest import Manifest, load_manifest

# Of a job's folder, what holds no dump data.
_OWN = (GRAPHS, RUNS)


def find_manifest(path: str, graphs: Iterable[str] = (),
                  progress: Optional[Progress] = None) -> Manifest:
    """The manifest for `path`, without writing anything.

    Args:
      path: the dump path, any folder below it, or a manifest.json.
      graphs: more places for graph files; the dump is then paired anew.
      progress: called as (stage, done, total or None), while it is paired.

    Raises:
      InputError: no such folder. FormatError: a manifest.json that is none.
    """
    path = os.path.abspath(path)
    if os.path.isfile(path) and os.path.basename(path) == MANIFEST_FILE:
        return load_manifest(path)
    if not os.path.isdir(path):
        raise InputError("Expected a dump folder. Received: %s, which %s." % (
            path, what_is_there(path)))
    graphs = tuple(graphs)
    if not graphs:
        written = _written(path)
        if written is not None:
            return written
    from keras_npu_dump.collector.collect import collect
    # Every file is opened by whoever asks for its values; pairing needs none.
    return collect(path, graphs=graphs, budget=0, progress=progress, write=False)


def _written(path: str) -> Optional[Manifest]:
    """manifest.json of the job, or of its only run, if nothing came after it."""
    runs = _names(os.path.join(path, RUNS))
    places = [path] + ([os.path.join(path, RUNS, runs[0])] if len(runs) == 1 else [])
    for place in places:
        file = os.path.join(place, MANIFEST_FILE)
        try:
            written = os.stat(file).st_mtime_ns
            manifest = load_manifest(file)
        except (OSError, FormatError, InputError):
            continue
        if manifest.faulty:
            continue  # what the folders say is better
        if manifest.dump_path == path and manifest.pairs and _holds(manifest, runs, written):
            return manifest
    return None


def _holds(manifest: Manifest, runs: Iterable[str], written: int) -> bool:
    """No run, folder, graph or file is newer than the manifest, and every run had ended."""
    if sorted(run.run_id for run in manifest.runs) != sorted(runs):
        return False
    if any(run.ended is None for run in manifest.runs):
        return False
    folders = {os.path.join(manifest.dump_path, name) for name in _names(manifest.dump_path)
               if name not in _OWN}
    for pair in manifest.pairs:
        for one in pair.steps:
            folder = manifest.absolute(one.path)
            # A folder's time changes when a file is made in it, and that of its
            # parents when a folder is.
            while len(folder) > len(manifest.dump_path) and folder not in folders:
                folders.add(folder)
                folder = os.path.dirname(folder)
    try:
        files = {manifest.absolute(pair.graph) for pair in manifest.pairs if pair.graph}
        # Clocks of file systems tick slowly: what came in the same tick may have come after.
        return all(os.stat(path).st_mtime_ns < written for path in folders | files)
    except (OSError, ValueError):  # gone, or no name that a file can have
        return False


def _names(folder: str) -> List[str]:
    """Sub-folders."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
