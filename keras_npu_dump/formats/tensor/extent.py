"""How many of a tensor's stored bytes are values.

One rule for all that read values: the shape decides. A device stores more than that where it
rounds sizes up; what lies behind the shape is no value, as the vendor's converter has it
(mindstudio-probe 26.2, `dump_data_object.py`).
"""
from __future__ import annotations

from typing import Optional

from keras_npu_dump.formats.tensor import decode
from keras_npu_dump.formats.tensor.message import TensorEntry


def elements_of(entry: TensorEntry, size: int) -> Optional[int]:
    """How many elements of a tensor are values.

    Args:
      entry: of the file's header.
      size: stored bytes that there are.

    Returns:
      The product of the shape. None where it does not say: a dimension is unknown, the bytes do
      not fill the shape (an FFTS slice has the whole tensor's), numpy can hold no such shape, or
      the type has no values; then all bytes count.
    """
    number = entry.data_type
    count = entry.count
    if count is None or (number == 0 and size) or not decode.can_hold(entry.shape) \
            or not decode.is_decoded(number) or decode.stored_bytes(number, count) > size:
        return None
    return count


def tail_bytes(entry: TensorEntry) -> int:
    """Stored bytes behind the shape, which are no values.

    Args:
      entry: of the file's header.
    """
    size = entry.size if entry.stored else 0
    count = elements_of(entry, size)
    return 0 if count is None else size - decode.stored_bytes(entry.data_type, count)
