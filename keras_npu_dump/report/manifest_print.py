"""Prints a manifest: the table to stdout, and after a training its problems to stderr."""
from typing import Any

from keras_npu_dump import messages
from keras_npu_dump.records.manifest import Manifest
from keras_npu_dump.records.manifest_text import NORMAL, manifest_text
from keras_npu_dump.records.problems import ERROR, WARNING
from keras_npu_dump.report.printing import GREEN, RED, YELLOW, print_text

_COLOURS = {"exact": GREEN, "content": GREEN, "guess": RED, "error": RED, "warning": YELLOW}


def print_manifest(manifest: Manifest, after_training: bool = False, file: Any = None,
                   detail: int = NORMAL) -> None:
    """Prints the table of a manifest.

    Args:
      manifest: what `collect` returned.
      after_training: the problems go to stderr, as messages do, not into the table.
      file: any object with `write`. Defaults to stdout.
      detail: as of `manifest_text`.

    Raises:
      OutputError: if the table does not get out.
    """
    try:
        print_text(manifest_text(manifest, after_training, detail), _COLOURS, file)
    finally:
        if after_training:
            _tell_problems(manifest)


def _tell_problems(manifest: Manifest) -> None:
    say = {ERROR: messages.error, WARNING: messages.warning}
    for problem in manifest.problems:
        say.get(problem.severity, messages.info)("%s", problem.text)
