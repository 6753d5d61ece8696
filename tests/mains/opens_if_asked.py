"""Opens the device only where an argument says so, and trains in any case."""
import sys

import small
import tensorflow as tf

if "--npu" in sys.argv:
    import npu_device
    npu_device.open().as_default()

small.fit(small.model(tf))
print("trained")
