"""What the adapter puts in the place of TensorFlow's dropout and gelu, module by module.

Imported by scripts as `npu_device.train.convert_dropout`, `npu_device.train.npu_convert` and
`npu_device.ops.train_ops`; TensorFlow is there before any of them (see `emulator/__init__.py`).
"""
