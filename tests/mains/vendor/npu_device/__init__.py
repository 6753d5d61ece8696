"""Laid out as the vendor's Python layer: TensorFlow is imported before any name is there."""
from npu_device.npu_device import global_options, open, set_npu_loop_size  # noqa: F401
