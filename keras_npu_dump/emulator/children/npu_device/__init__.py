"""The stand-in for `import npu_device` in a child that multiprocessing has spawned.

Such a child begins with an interpreter of its own, where nobody has called `install()`, and
imports the script again: on an NPU it finds the real npu_device.
"""
import sys

from keras_npu_dump.emulator.api import modules

sys.modules.update(modules.build())
