"""A manifest as a person wants to see it: which graph belongs to which dump, and how sure.

The answer comes first, a line for each training graph; the next command comes last. `run`
prints this after the training's own output, so no line begins like those that users grep
from training logs.
"""
from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, List

from keras_npu_dump.files.quoting import shell_word, terminal
from keras_npu_dump.files.text_table import indent, render_table
from keras_npu_dump.records.answer_line import answer_line, braces
from keras_npu_dump.sizes import human_bytes, plural

if TYPE_CHECKING:
    from keras_npu_dump.records.manifest import Manifest, Pair, Step

MAX_EXECUTIONS = 40
MAX_INIT = 3  # a model of a hundred layers has hundreds of graphs that set one variable
# How the evidence begins that tells a graph from those that show alike: shown in any table.
TAKES = "it takes "
# How much is shown: the answer alone; the pairs, too; what speaks for each, too.
BRIEF, NORMAL, VERBOSE = range(3)


def manifest_text(manifest: Manifest, after_training: bool = False, detail: int = NORMAL) -> str:
    """The answer, the training pairs in full, the other graphs in a line each (many that only
    set variables in one line), the problems, and the next command.

    Args:
      manifest: what `collect` returned.
      after_training: leave out the problems.
      detail: BRIEF has only the answer and the next command, VERBOSE the evidence as well.

    Returns:
      Lines without control characters: what stands in a name or path is shown by its code.
    """
    training = [position for positions in manifest.training.values() for position in positions]
    parts = ["\n".join(_answer(manifest, training))]
    if detail != BRIEF:
        parts.append("Dump folder: %s" % terminal(manifest.dump_path))
        parts += [_pair_text(manifest, manifest.pairs[one], detail) for one in training]
        others = [pair for one, pair in enumerate(manifest.pairs) if one not in training]
        if others:
            parts.append(_others_text(others, bool(training)))
    if manifest.problems and not after_training:
        parts.append(problems_text(manifest))
    parts.append("\n".join(_where_to_go(manifest, detail)))
    return "\n\n".join(parts)


def _answer(manifest: Manifest, training: List[int]) -> List[str]:
    if training:
        several = len(manifest.training) > 1
        pairs = [manifest.pairs[one] for one in training[:MAX_EXECUTIONS]]
        lines = [answer_line(pair, several, _is_uncertain(manifest, pair)) for pair in pairs]
        if len(training) > MAX_EXECUTIONS:
            lines.append("... and %d more" % (len(training) - MAX_EXECUTIONS))
        return list(map(terminal, lines))
    if manifest.pairs:
        return ["No training graph is among the graphs that were dumped."]
    why = manifest.problems[0].message if manifest.problems else "nothing of a dump is here"
    if why.startswith("nothing "):  # also where that is well: no operator overflowed
        return [terminal(why[0].upper() + why[1:])]
    return [terminal("No graph and dump folder belong together: %s" % why)]


def _is_uncertain(manifest: Manifest, pair: Pair) -> bool:
    """Whether a problem says that which batches a pair holds is not known for sure."""
    paths = {step.path for step in pair.steps}
    return any(one.code == "index-uncertain" and one.path in paths for one in manifest.problems)


def _where_to_go(manifest: Manifest, detail: int) -> List[str]:
    """Where the rest stands, and in the last line the command that goes on from here."""
    folder = shell_word(manifest.dump_path)
    lines = []
    if detail != VERBOSE and any(pair.evidence for pair in manifest.pairs):
        lines.append("Evidence: keras-npu-dump collect -v %s" % folder)
    if manifest.path:
        lines.append("Manifest: %s" % manifest.path)
    command = ("inspect" if manifest.pairs and not manifest.training
               else "doctor" if manifest.empty else "triage")
    if manifest.errors and not manifest.training:
        # How the training ended is the cause of what it left undone.
        code = next((one.code for one in manifest.problems if one.code == "run-crashed"),
                    manifest.errors[0].code)
        lines.append("Next: keras-npu-dump explain %s" % shell_word(code))
    else:
        lines.append("Next: keras-npu-dump %s%s" % (
            command, "" if command == "doctor" else " " + folder))
    return list(map(terminal, lines))


def problems_text(manifest: Manifest) -> str:
    """The problems alone, errors first, each with its hint in a line of its own.

    Args:
      manifest: what `collect` returned.
    """
    return "\n".join([*map(str, manifest.problems),
                      "What a word in brackets means: keras-npu-dump explain WORD"])


def _pair_text(manifest: Manifest, pair: Pair, detail: int) -> str:
    graph = next((one for one in manifest.graphs if one.file == pair.graph), None)
    size = "" if graph is None else " (%s%s)" % (
        human_bytes(graph.bytes),
        "" if graph.op_count is None else ", %s" % plural(graph.op_count, "operator"))
    where = ["device %s" % pair.device]
    if pair.rank is not None:
        where.insert(0, "rank %s" % pair.rank)
    lines = [
        "Training graph  %s" % ("unknown" if graph is None or graph.name is None else graph.name),
        "  graph file    %s%s" % (pair.graph, size),
        "  where         %s" % ", ".join(where),
        "  confidence    %s" % pair.confidence,
    ]
    lines += ["  takes         %s" % text[len(TAKES):] for text in pair.evidence
              if text.startswith(TAKES) and detail != VERBOSE]
    lines += ["    - " + text for text in pair.evidence if detail == VERBOSE]
    lines = list(map(terminal, lines))
    executions = [steps for _, steps in pair.executions()]
    rows = [_execution_row(one) for one in executions[:MAX_EXECUTIONS]]
    table = render_table(("data_index", "which batch", "files", "size", "dump data"), rows,
                         right=(0, 2, 3))
    lines += ["", indent(table)]
    if len(executions) > MAX_EXECUTIONS:
        lines.append("  ... and %d more in the manifest" % (len(executions) - MAX_EXECUTIONS))
    return "\n".join(lines)


def _execution_row(parts: List[Step]) -> List[str]:
    """An execution; of a dynamic graph with the folders of all its parts."""
    iteration = next((one.iteration for one in parts if one.iteration), None)
    which = "unknown" if not iteration else "epoch %s, batch %s" % (
        iteration["epoch"], iteration["batch"])
    if iteration and iteration.get("fit"):
        which = "fit %d, %s" % (iteration["fit"], which)
    index = "-" if parts[0].data_index is None else str(parts[0].data_index)
    return [index, which, str(sum(one.files for one in parts)),
            human_bytes(sum(one.bytes for one in parts)), _parts_path([one.path for one in parts])]


def _parts_path(paths: List[str]) -> str:
    """The folders of parts as a shell takes them, where only one level differs:
    `20261201060841/0/__inference_train_function_349/{4,7,9}/0`."""
    levels = [path.split("/") for path in paths]
    if len(paths) == 1:
        return paths[0]
    if len({len(one) for one in levels}) == 1:
        differ = [number for number, names in enumerate(zip(*levels)) if len(set(names)) > 1]
        if len(differ) == 1:
            first = levels[0]
            first[differ[0]] = braces([one[differ[0]] for one in levels])
            return "/".join(first)
    return "%s and %d more" % (paths[0], len(paths) - 1)


def _others_text(pairs: List[Pair], beside_training: bool) -> str:
    small = [pair for pair in pairs if pair.role == "init"]
    shown = pairs if len(small) <= MAX_INIT else [pair for pair in pairs if pair.role != "init"]
    rows = [_other_row(pair) for pair in shown]
    lines = ["Other graphs that were dumped too:" if beside_training
             else "Graphs that were dumped:"]
    if rows:
        lines.append(indent(render_table(
            ("role", "graph", "belongs", "data_index", "size", "graph file"), rows, right=(4,))))
    if len(shown) < len(pairs):
        # One per variable, and again for each assignment after a new trace.
        lines.append("  %s%s of role init (%s), listed in the manifest: %s" % (
            "and " if rows else "", plural(len(small), "graph"),
            human_bytes(sum(one.bytes for pair in small for one in pair.steps)),
            ", ".join("%d %s" % (count, terminal(confidence)) for confidence, count in
                      Counter(pair.confidence for pair in small).items())))
    return "\n".join(lines)


def _other_row(pair: Pair) -> List[str]:
    indices = sorted({one.data_index for one in pair.steps if one.data_index is not None})
    shown = ", ".join(map(str, indices[:8])) + (", ..." if len(indices) > 8 else "")
    return [pair.role, ", ".join(pair.model_names) or "-", pair.confidence, shown or "-",
            human_bytes(sum(one.bytes for one in pair.steps)), pair.graph]
