"""Export as numpy files, one per tensor: `<dump name>.output.0.npy`."""
from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np

from keras_npu_dump.export.forms import ExportResult, Form, OriginFormats
from keras_npu_dump.export.tensor_files import export
from keras_npu_dump.files.progress import Progress
from keras_npu_dump.formats import npy_bytes


def export_npy(source: Any, target: Any,
               origin_formats: Optional[OriginFormats] = None,
               progress: Optional[Progress] = None) -> ExportResult:
    """Writes every tensor below a path as .npy, in its original layout.

    Names are those of the vendor's converter (msaccucmp `convert -t npy`):
    `<dump name>.<input|output>.<index>.npy`; overflow records become
    `<dump name>.output.<index>.json`, buffers and workspaces
    `<dump name>.l1buffer.<index>.bin` and `.space.<index>.bin`. bfloat16 and
    8-bit floats are float32. Types without documented values become
    `<dump name>.<kind>.<index>.<bytes>.<DT_name>.<layout>.bin`.

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
    return "%s.%s.%d.npy" % (base, kind, index)


FORM = Form(_name, npy_bytes.head, ".npy")
