"""The stand-in for `import npu_device` in a child that multiprocessing has spawned.

Such a child begins with an interpreter of its own, where nobody has called `install()`, and
imports the script again: on an NPU it finds the real npu_device.
"""
import importlib
import sys

importlib.import_module("tensorflow")  # as the adapter, before anything is there

from keras_npu_dump.emulator.vendor_modules import module_tree  # noqa: E402

module_tree.fill(sys.modules[__name__])
