"""Export as plain values, one file per tensor, described by its name."""
from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np

from keras_npu_dump.export.forms import ExportResult, Form, OriginFormats
from keras_npu_dump.export.tensor_files import export
from keras_npu_dump.files.progress import Progress


def export_bin(source: Any, target: Any,
               origin_formats: Optional[OriginFormats] = None,
               progress: Optional[Progress] = None) -> ExportResult:
    """Writes every tensor below a path as bare little-endian values.

    Names are those of the vendor's converter (msaccucmp `convert -t bin`):
    `<dump name>.<input|output>.<index>.<dims joined by _>.<dtype>.<LAYOUT>
    .bin`, where dims, numpy type and layout are those of what was written
    (the vendor writes bfloat16 over values that are float32).

    Args:
      source: a dump file, or any level of a dump tree.
      target: folder, made if there is something to write.
      origin_formats: layouts from the graph (`origin_formats_of`), for where the shapes
        alone do not tell NHWC from NCHW.
      progress: called with ("export", files done, files in all).

    Returns:
      What was done.

    Raises:
      InputError: no tensors at `source`, or a target that cannot be written.
      FormatError: the one file that `source` is cannot be read.
    """
    return export(source, target, FORM, origin_formats, progress)


def _name(base: str, kind: str, index: int, shape: Sequence[int],
          dtype: np.dtype, layout: str) -> str:
    return "%s.%s.%d.%s.%s.%s.bin" % (
        base, kind, index, "_".join(map(str, shape)) or "1", dtype.name,
        layout)


FORM = Form(_name, lambda dtype, shape: b"", ".bin")
