"""Export as numpy files, one per tensor: `<dump name>.output.0.npy`."""
from __future__ import annotations

from typing import Any, Dict, Optional, Sequence, Tuple

import numpy as np

from keras_npu_dump.export.forms import ExportResult, Form, OriginFormats, ProgressCallback
from keras_npu_dump.export.tensor_files import export

_HEADS: Dict[Tuple[np.dtype, Tuple[int, ...]], bytes] = {}


def export_npy(source: Any, target: Any,
               origin_formats: Optional[OriginFormats] = None,
               progress: Optional[ProgressCallback] = None) -> ExportResult:
    """Writes every tensor below a path as .npy, in its original layout.

    Names are those of the vendor's converter (msaccucmp `convert -t npy`):
    `<dump name>.<input|output>.<index>.npy`; overflow records become
    `<dump name>.output.<index>.json`, buffers and workspaces
    `<dump name>.l1buffer.<index>.bin` and `.space.<index>.bin`. bfloat16 and
    8-bit floats are float32. Types without documented values become
    `<dump name>.<kind>.<index>.<bytes>.<DT_name>.<layout>.bin`.

    Args, returns, raises: as `tensors.export`.
    """
    return export(source, target, FORM, origin_formats, progress)


def head(dtype: np.dtype, shape: Sequence[int]) -> bytes:
    """The bytes in front of the values of a C-ordered .npy file, version 1.

    Kept by type and shape: building it costs more than reading a small dump.
    """
    key = (dtype, tuple(shape))
    known = _HEADS.get(key)
    if known is None:
        text = "{'descr': %r, 'fortran_order': False, 'shape': %r, }" % (
            dtype.str, tuple(int(dim) for dim in shape))
        room = 10 + len(text) + 1
        text += " " * (-room % 64) + "\n"
        known = (b"\x93NUMPY\x01\x00"
                 + len(text).to_bytes(2, "little") + text.encode("latin1"))
        if len(_HEADS) > 4096:
            _HEADS.clear()
        _HEADS[key] = known
    return known


def _name(base: str, kind: str, index: int, shape: Sequence[int],
          dtype: np.dtype, layout: str) -> str:
    return "%s.%s.%d.npy" % (base, kind, index)


FORM = Form(_name, head, ".npy")
