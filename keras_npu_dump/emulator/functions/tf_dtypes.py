"""Numbers of TensorFlow's DataType (tensorflow/core/framework/types.proto) that matter here.

Dump files and graphs have other numbers for the same types: see `values.dtype_numbers`.
"""

DT_INT32 = 3
DT_STRING = 7
DT_INT64 = 9
DT_BOOL = 10
DT_HALF = 19
DT_RESOURCE = 20
DT_VARIANT = 21

OPAQUE = frozenset((DT_STRING, DT_RESOURCE, DT_VARIANT))
"""Types whose values have no bytes that a device could dump; `graph_parts.HANDLE_DTYPES` by
number."""

FIRST_UNLISTED = 24
"""From this type on, the small floats and integers, TensorFlow keeps no tensors in lists."""
