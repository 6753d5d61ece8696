"""Lays out pairs as the vendor's comparator wants them, with its command line.

msaccucmp compares the dump files of one leaf folder (it lists that folder
alone, `dump.py`) with golden npy files, through the graph as JSON (`-f`, as
`atc --mode=5` gives it, `fusion_rule_parser.py`). So each step of a pair
becomes

    {output}/rank{rank}/{graph name}/{data_index}/    dump files, flat
    {output}/rank{rank}/{graph name}/graph.json
    {output}/compare.sh                               the commands

`device{id}` stands for the rank where no run record says it. A dynamic graph's
several model folders are one leaf: for the comparator they are one execution.
"""
from __future__ import annotations

import dataclasses
import os
import re
from typing import Any, Dict, List, Optional, Set, Tuple, Union

from keras_npu_dump.collector.collect import collect
from keras_npu_dump.errors import FormatError, InputError
from keras_npu_dump.export.bundle import Archive, Folder
from keras_npu_dump.export.graph_json import graph_bytes
from keras_npu_dump.export.places import is_archive
from keras_npu_dump.files.progress import Progress
from keras_npu_dump.files.quoting import UnwritableError, mapping_line, shell_command, shell_word
from keras_npu_dump.formats.mapping import MAPPING
from keras_npu_dump.formats.names import sanitise
from keras_npu_dump.formats.tree import list_files
from keras_npu_dump.records.manifest import Manifest, Pair, Step, load_manifest

# What the comparator's patterns accept in a path (reg_manager.py).
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_./:=\\-]+$")
_MAX_PART = 200
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]+$")
# The comparator ends with 2 where some operator has no dump file, which is always so (Data, Const
# and NetOutput never have one), and where no operator has one: its own words tell the two apart
# (vector_comparison.py of mindstudio-probe 26.2).
_SCRIPT = r"""#!/usr/bin/env bash
# Compares each step with golden data: bash compare.sh GOLDEN_NPY_FOLDER [options of msaccucmp]
# Status 0: every step was compared. 1: some could not be; the last lines say which.
set -u
umask 077
here=$(cd "$(dirname "$0")" && pwd)
golden=${1:?the folder with the golden npy files}
shift
toolkit=${ASCEND_TOOLKIT_HOME:-/usr/local/Ascend/ascend-toolkit/latest}
msaccucmp=${MSACCUCMP:-$toolkit/tools/operator_cmp/compare/msaccucmp.py}
[ -f "$msaccucmp" ] || {
    echo "compare.sh: expected msaccucmp.py in ASCEND_TOOLKIT_HOME, or its path in MSACCUCMP." \
        "Received: $msaccucmp" >&2
    exit 2
}
trap 'exit 130' INT
trap 'exit 143' TERM
total=0
failed=()

compare() {  # LEAF GRAPH OUT [options]
    local leaf=$1 graph=$2 out=$3 status log
    shift 3
    total=$((total + 1))
    mkdir -p "$here/$out"
    log=$here/$out/msaccucmp.log
    python3 "$msaccucmp" compare -m "$here/$leaf" -g "$golden" -f "$here/$graph" \
        -out "$here/$out" "$@" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    # 2: some operator has no dump file. Data, Const and NetOutput never have one.
    if [ "$status" -eq 2 ] && ! grep -q "does not match the dump data" "$log"; then
        status=0
    fi
    [ "$status" -eq 0 ] || failed+=("$leaf (status $status, $log)")
}
"""
_COMMAND = """compare {leaf} {json} {out} "$@"
"""
_END = r"""
echo "compare.sh: $((total - ${#failed[@]})) of $total steps compared," \
    "results below $here/results" >&2
[ ${#failed[@]} -eq 0 ] || {
    printf 'compare.sh: not compared: %s\n' "${failed[@]}" >&2
    exit 1
}
"""


@dataclasses.dataclass
class Leaf:
    """One execution, ready to compare. Paths are relative to the target."""

    leaf: str
    json: str
    graph: str
    rank: Optional[int]
    data_index: Optional[int]
    iteration: Optional[Dict[str, int]]
    files: int
    bytes: int


@dataclasses.dataclass
class MsaccucmpExport:
    """What was exported.

    Attributes:
      target: the folder, or the archive.
      leaves: one for each step.
      written, bytes: files in the target (graphs and compare.sh included) and
        their size, unpacked.
      linked, copied: dump files by hard link, and by copy.
      passed: files that the comparator cannot read (statistics, foreign).
      commands: the command line of each leaf, golden data left as GOLDEN.
      problems: (path, reason).
    """

    target: str
    leaves: List[Leaf] = dataclasses.field(default_factory=list)
    written: int = 0
    bytes: int = 0
    linked: int = 0
    copied: int = 0
    passed: int = 0
    commands: List[str] = dataclasses.field(default_factory=list)
    problems: List[Tuple[str, str]] = dataclasses.field(default_factory=list)


def export_msaccucmp(source: Union[Manifest, str], output: str, archive: Optional[bool] = None,
                     role: Optional[str] = "train",
                     progress: Optional[Progress] = None) -> MsaccucmpExport:
    """Exports the pairs of a collected run for msaccucmp.

    Args:
      source: a Manifest, a manifest.json, or any folder that `collect` takes.
      output: a folder that does not exist yet or is empty, or with `archive` a
        file; it appears when it is complete.
      archive: a .tar.gz in place of a folder. Defaults to whether `output`
        ends in .tar.gz or .tgz.
      role: export pairs of this role alone; None exports all. Where no pair
        has it, as in a network whose role nothing tells, all are exported.
      progress: called with ("export", files done, files in all).

    Returns:
      What was exported. What could not be is in `problems`.

    Raises:
      InputError: nothing to export, or an output that is in the way or cannot
        be written.
    """
    manifest = _manifest(source)
    pairs = [pair for pair in manifest.pairs if role in (None, pair.role)] or manifest.pairs
    if not pairs:
        raise InputError("nothing to export: %s has no pair of graph and dump folder" % (
            manifest.dump_path))
    if archive is None:
        archive = output.endswith((".tar.gz", ".tgz"))
        if not archive and is_archive(output) and not os.path.isdir(output):
            raise InputError("output: expected a folder, or a file that ends in .tar.gz or .tgz. "
                             "Received: %s" % output)
    target = os.path.abspath(output)
    result = MsaccucmpExport(target)
    plan = _plan(manifest, pairs, result)
    if not any(files for _, _, files in plan):
        raise InputError("nothing to export: no pair of %s has tensor files; msaccucmp reads no "
                         "statistics" % manifest.dump_path)
    if not _PLAIN_PATH.match(target):
        result.problems.append((target, "msaccucmp refuses paths with blanks or characters other "
                                "than letters, digits and ./_:=-"))
    writer = Archive(target) if archive else Folder(target)
    try:
        with writer:
            _write(manifest, plan, writer, result, progress)
    except OSError as error:
        raise InputError("cannot write %s: %s" % (target, error.strerror or error)) from None
    return result


def _manifest(source: Union[Manifest, str]) -> Manifest:
    if isinstance(source, Manifest):
        return source
    if os.path.isfile(source):
        return load_manifest(source)
    return collect(source, write=False)


# (path, name in the leaf, long name where the name is digits)
Files = List[Tuple[str, str, str]]
Plan = List[Tuple[Leaf, Pair, Files]]


def _plan(manifest: Manifest, pairs: List[Pair], result: MsaccucmpExport) -> Plan:
    """Every execution with its files."""
    plan: Plan = []
    folders: Set[str] = set()
    for pair in pairs:
        base = _base(pair, folders)
        for load, steps in sorted(pair.executions(), key=_by_index):
            data_index = steps[0].data_index
            name = "all" if data_index is None else _plain(data_index)
            leaf = Leaf("%s/%s%s" % (base, name, "_load%d" % load if load else ""),
                        base + "/graph.json", pair.graph, pair.rank, data_index,
                        steps[0].iteration, 0, 0)
            plan.append((leaf, pair, _files(manifest, steps, result)))
    return plan


def _by_index(item: Tuple[int, List[Step]]) -> Tuple[int, int]:
    load, steps = item
    return (-1 if steps[0].data_index is None else steps[0].data_index, load)


def _plain(value: Any) -> str:
    """A part of a path and of a command, of a manifest that may say anything."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", str(value))[:_MAX_PART]


def _base(pair: Pair, folders: Set[str]) -> str:
    who = ("rank%s" % _plain(pair.rank) if pair.rank is not None
           else "device%s" % _plain(pair.device))
    name = _plain(sanitise(pair.model_names[0] if pair.model_names
                           else os.path.basename(pair.graph)))
    base, number = "%s/%s" % (who, name), 1
    while base in folders:
        # The same graph in another launch, or built again.
        number += 1
        base = "%s/%s_%d" % (who, name, number)
    folders.add(base)
    return base


def _files(manifest: Manifest, steps: List[Step], result: MsaccucmpExport) -> Files:
    """Tensor files of an execution, and the digits that mapping.csv explains."""
    found = []
    for step in steps:
        folder = manifest.absolute(step.path)
        try:
            odd: List[FormatError] = []
            files = list_files(folder, odd)
            result.problems.extend((error.path, error.reason) for error in odd)
        except OSError as error:
            result.problems.append((folder, error.strerror or str(error)))
            continue
        except ValueError as error:  # no path at all: a NUL, or half a character
            result.problems.append((folder, str(error)))
            continue
        for file in files:
            name, full = file.name, file.full_name
            path = os.path.join(folder, name)
            if os.path.islink(path) or name == MAPPING:
                continue
            if file.kind != "dump":
                result.passed += 1
            elif not file.size:
                result.problems.append((path, "empty: msaccucmp stops at such a file"))
            else:
                found.append((path, name, full))
                if not _PLAIN_NAME.match(full):
                    result.problems.append((path, "msaccucmp passes over names with other signs "
                                            "than letters, digits, _ and -"))
    return found


def _write(manifest: Manifest, plan: Plan, writer: Union[Folder, Archive],
           result: MsaccucmpExport, progress: Optional[Progress]) -> None:
    total = sum(len(files) for _, _, files in plan)
    done = 0
    graphs: Set[str] = set()
    script = _SCRIPT
    for leaf, pair, files in plan:
        if not files:
            result.problems.append((leaf.leaf, "no tensor files: nothing to compare"))
            continue
        if leaf.json not in graphs:
            graphs.add(leaf.json)
            _write_graph(manifest.absolute(pair.graph), leaf.json, writer, result)
        for path, name, _ in files:
            _add(path, name, leaf, writer, result)
            done += 1
            if progress is not None:
                progress("export", done, total)
        _write_mapping(files, leaf, writer, result)
        result.leaves.append(leaf)
        result.written += leaf.files
        result.bytes += leaf.bytes
        out = "results/" + leaf.leaf
        script += _COMMAND.format(leaf=shell_word(leaf.leaf), json=shell_word(leaf.json),
                                  out=shell_word(out))
        result.commands.append(shell_command(
            "python3", "msaccucmp.py", "compare", "-m", leaf.leaf, "-g", "GOLDEN", "-f", leaf.json,
            "-out", out))
    result.bytes += writer.write("compare.sh", [(script + _END).encode("ascii")])
    result.written += 1


def _add(path: str, name: str, leaf: Leaf, writer: Union[Folder, Archive],
         result: MsaccucmpExport) -> None:
    try:
        linked, size = writer.add(path, "%s/%s" % (leaf.leaf, name))
    except FormatError as error:
        result.problems.append((path, error.reason))
        return
    if linked:
        result.linked += 1
    else:
        result.copied += 1
    leaf.files += 1
    leaf.bytes += size


def _write_mapping(files: Files, leaf: Leaf, writer: Union[Folder, Archive],
                   result: MsaccucmpExport) -> None:
    lines = []
    for short, full in sorted({name: full for _, name, full in files if name != full}.items()):
        try:
            lines.append(mapping_line(short, full))
        except UnwritableError as error:
            result.problems.append(("%s/%s" % (leaf.leaf, short), error.reason))
    if lines:
        result.bytes += writer.write("%s/%s" % (leaf.leaf, MAPPING), lines)
        result.written += 1


def _write_graph(path: str, name: str, writer: Union[Folder, Archive],
                 result: MsaccucmpExport) -> None:
    try:
        result.bytes += writer.write(name, graph_bytes(path))
        result.written += 1
    except FormatError as error:
        result.problems.append((path, error.reason))
